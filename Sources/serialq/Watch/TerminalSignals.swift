import SerialPromises
import SerialqSystem

/// Receives the signals that affect a live display or an attached terminal: resize, Ctrl-Z and
/// `fg`.
package final class TerminalSignals: Sendable {
  private struct Pending {
    var isToStop = false
    var isContinued = false
  }

  private let pending: Locked<Pending>
  private let listener: SignalListener

  /// Calls `wake` on another thread after each signal.
  package init(wake: @escaping @Sendable () -> Void) throws(Failure) {
    let pending = Locked(Pending())
    self.pending = pending
    // A parent that ignores SIGTSTP cannot continue a stopped process.
    let stop = SignalListener.isIgnored(SIGTSTP) ? [] : [SIGTSTP]
    listener = try SignalListener([SIGWINCH, SIGCONT] + stop) { number in
      pending.withLock { pending in
        if number == SIGTSTP { pending.isToStop = true }
        if number == SIGCONT { pending.isContinued = true }
      }
      wake()
    }
  }

  /// Returns whether Ctrl-Z is pending, and clears it.
  package func takeStop() -> Bool {
    pending.withLock { pending in
      defer { pending.isToStop = false }
      return pending.isToStop
    }
  }

  /// Returns whether the process was continued since the last call.
  package func takeContinuation() -> Bool {
    pending.withLock { pending in
      defer { pending.isContinued = false }
      return pending.isContinued
    }
  }

  /// Stops the process until SIGCONT; erase the display first.
  package func stop() { SignalListener.obey(SIGTSTP) }
}
