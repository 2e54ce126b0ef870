/// Tracks the adders that wait for room.
///
/// Their steps are already in the queue; only the calls of `admitted` are deferred. The adders are
/// admitted in the order of arrival, even if their steps have been moved.
struct Backpressure {
  /// Called with true when there is room, or false when none is needed.
  typealias Admitted = @Sendable (_ hasRoom: Bool) -> Void

  /// The maximum number of waiting steps; nil means no limit.
  let capacity: Int?

  /// The waiting adders, by the numbers of their steps, which are in the order of arrival.
  ///
  /// Does not hold the step records, because they would retain the errors of the steps.
  private(set) var line: [Int: Admitted] = [:]

  /// No adder with a smaller number waits.
  private var first = 0

  init(capacity: Int?) {
    self.capacity = capacity
  }

  /// Whether the capacity allows another waiting step.
  func hasRoom(beside waitingCount: Int) -> Bool { capacity.map { waitingCount < $0 } ?? true }

  /// The number of adders that wait.
  var parked: Int { line.count }

  mutating func park(_ id: Int, _ admitted: @escaping Admitted) {
    // Otherwise the search for the first would visit all steps since the last that was parked.
    if line.isEmpty { first = id }
    line[id] = admitted
  }

  func isParked(_ id: Int) -> Bool { line[id] != nil }

  /// Removes the adder of a step that has left the queue.
  ///
  /// - Returns: The callback of the adder, if it was waiting for room.
  mutating func unpark(_ id: Int) -> Admitted? { line.removeValue(forKey: id) }

  /// Admits the adder of step `id`, which begins, or the oldest one, if the steps that still wait leave room
  /// for its step.
  mutating func left(_ id: Int, waitingCount: Int, _ effects: inout Effects) {
    // A step that was itself parked, and was moved, leaves no room behind; nor does one that was replaced.
    if let admitted = unpark(id) ?? admitFirst(beside: waitingCount - parked) {
      effects.call { admitted(true) }
    }
  }

  /// - Returns: The callback of the oldest waiting adder.
  private mutating func admitFirst(beside admittedCount: Int) -> Admitted? {
    while !line.isEmpty, hasRoom(beside: admittedCount) {
      defer { first += 1 }
      if let admitted = line.removeValue(forKey: first) { return admitted }
    }
    return nil
  }
}
