/// The purpose of work done by promises.
///
/// Its last reference is released when all of that work has ended.
///
/// Every promise that was started for a scope retains it until the promise is settled and its work
/// has ended. Sendable because it and its subclasses have only constants, or lock their mutable
/// state.
class WorkScope: @unchecked Sendable {
  /// The manager in whose turn the work is done.
  let turn: Locked<SerialOrder>

  init(turn: Locked<SerialOrder>) {
    self.turn = turn
  }

  /// Returns a mark for this work, for the detection of deadlocks.
  func runningStep(in outer: RunningStep?) -> RunningStep? { outer }
}
