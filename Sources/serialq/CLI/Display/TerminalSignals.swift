import SerialPromises
import SerialqSystem

/// Hears what happens to the terminal that a live display is drawn on: it was resized, the display
/// is to make room for the shell (Ctrl-Z), or it is back (`fg`).
final class TerminalSignals: Sendable {
  private let isToStop: Locked<Bool>
  private let heard: HeardSignals

  /// Calls `wake`, on a thread of Dispatch, when the display has to look.
  init(wake: @escaping @Sendable () -> Void) {
    let isToStop = Locked(false)
    self.isToStop = isToStop
    // Whoever started this with SIGTSTP ignored has no use for a program that stops.
    let stop = HeardSignals.isIgnored(SIGTSTP) ? [] : [SIGTSTP]
    heard = HeardSignals([SIGWINCH, SIGCONT] + stop) { number in
      if number == SIGTSTP { isToStop.withLock { $0 = true } }
      wake()
    }
  }

  /// Whether Ctrl-Z came and has not been obeyed yet; then it counts as obeyed.
  func takeStop() -> Bool {
    isToStop.withLock { isToStop in
      defer { isToStop = false }
      return isToStop
    }
  }

  /// Stops until told to continue, with a screen from which the display has been taken away.
  func stop() { HeardSignals.obey(SIGTSTP) }
}
