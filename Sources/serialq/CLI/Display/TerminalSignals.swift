import SerialPromises
import SerialqSystem

/// Receives the signals that affect a live display: resize, Ctrl-Z and `fg`.
final class TerminalSignals: Sendable {
  private let isToStop: Locked<Bool>
  private let heard: SignalListener

  /// Calls `wake` on a Dispatch thread after each signal.
  init(wake: @escaping @Sendable () -> Void) {
    let isToStop = Locked(false)
    self.isToStop = isToStop
    // A parent that ignores SIGTSTP cannot continue a stopped process.
    let stop = SignalListener.isIgnored(SIGTSTP) ? [] : [SIGTSTP]
    heard = SignalListener([SIGWINCH, SIGCONT] + stop) { number in
      if number == SIGTSTP { isToStop.withLock { $0 = true } }
      wake()
    }
  }

  /// Returns whether Ctrl-Z is pending, and clears it.
  func takeStop() -> Bool {
    isToStop.withLock { isToStop in
      defer { isToStop = false }
      return isToStop
    }
  }

  /// Stops the process until SIGCONT; erase the display first.
  func stop() { SignalListener.obey(SIGTSTP) }
}
