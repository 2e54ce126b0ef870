import Dispatch
import SerialPromises
import SerialqSystem

/// Restores the terminal after the output of a job that may have left a color, a hidden cursor or
/// the alternate screen behind.
package final class TerminalRestorer: Sendable {
  /// What restores the terminal; nil while nothing was printed that can change it.
  ///
  /// Shared with the thread that receives signals.
  private let reset = Locked<Bytes?>(nil)
  let isTerminal: Bool
  /// Whether the terminal obeys sequences; in an editor's window it may show them.
  private let isLive: Bool
  /// Available while nothing is being printed.
  private let turn = DispatchSemaphore(value: 0)

  package convenience init() {
    let traits = TerminalTraits(of: STDOUT_FILENO, variable: Machine.variable)
    self.init(isTerminal: traits.isTerminal, isLive: traits.isLive)
  }

  init(isTerminal: Bool, isLive: Bool) {
    self.isTerminal = isTerminal
    self.isLive = isLive
    // Not the initial value: the last release must be possible while a thread has the turn.
    turn.signal()
  }

  /// Notes output that is printed next, in the same call of ``printing(_:)``.
  func note(_ bytes: Bytes) {
    guard isLive, TerminalModes.canChange(by: bytes) else { return }
    reset.withLock { $0 = TerminalModes.reset }
  }

  /// Calls `body`, which notes output and writes it.
  ///
  /// In one turn: a signal in between would restore the terminal before the output changes it.
  func printing<Problem: Error>(_ body: () throws(Problem) -> Void) throws(Problem) {
    guard isTerminal else { return try body() }
    turn.wait()
    defer { turn.signal() }
    try body()
  }

  /// Restores the terminal; writes nothing if the output was text.
  package func restore(_ output: inout Output) {
    printing { write(&output) }
  }

  /// Restores the terminal and calls `end`, which ends this process because of a signal; prints
  /// nothing else meanwhile.
  ///
  /// Waits for the thread that prints, up to `limit`: it is blocked if the terminal accepts
  /// nothing.
  package func restore(
    on output: Output = Output(), waitingAtMost limit: DispatchTimeInterval = .seconds(1),
    then end: () -> Void
  ) {
    let hasTurn = isTerminal && turn.wait(timeout: .now() + limit) == .success
    var output = output
    write(&output)
    end()
    // The signal had no effect, as on the first process of a container.
    if hasTurn { turn.signal() }
  }

  private func write(_ output: inout Output) {
    if let reset = reset.withLock({ $0.take() }) { output.restore(reset) }
  }
}
