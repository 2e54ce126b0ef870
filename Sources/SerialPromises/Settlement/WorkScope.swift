/// What the work of promises is done for; its last reference goes away when all of that work has ended.
///
/// Held by every promise that was begun for it, until the promise is settled and its work has ended.
/// Sendable because it and its subclasses have constants only, or lock what they change.
class WorkScope: @unchecked Sendable {
  /// The manager in whose turn the work is done.
  let turn: Locked<SerialOrder>

  init(turn: Locked<SerialOrder>) {
    self.turn = turn
  }

  /// Marks what belongs to this work, so that what waits for itself there is noticed.
  func runningStep(in outer: RunningStep?) -> RunningStep? { outer }
}
