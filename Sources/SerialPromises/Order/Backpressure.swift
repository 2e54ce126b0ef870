/// Tracks the adders that wait for room.
///
/// Their steps are already in the queue; only the calls of `admitted` are deferred. The adders are
/// admitted in the order of arrival, even if their steps have been moved.
struct Backpressure {
  /// Called with true when there is room, or false when none is needed.
  typealias Admitted = @Sendable (_ hasRoom: Bool) -> Void

  /// The maximum number of waiting steps; nil means no limit.
  let capacity: Int?

  /// An adder that waits.
  struct Adder {
    let admitted: Admitted
    /// The priority of its task.
    var priority: UInt8 = 0
  }

  /// The waiting adders, by the numbers of their steps, which are in the order of arrival.
  ///
  /// Does not hold the step records, because they would retain the errors of the steps.
  private(set) var line: [Int: Adder] = [:]

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
    line[id] = Adder(admitted: admitted)
  }

  /// Records the priority of the adder of a step, if it waits.
  ///
  /// - Returns: The one that it had; nil if nothing changes.
  mutating func raise(_ id: Int, to priority: UInt8) -> UInt8? {
    guard let before = line[id]?.priority, before < priority else { return nil }
    line[id]?.priority = priority
    return before
  }

  func isParked(_ id: Int) -> Bool { line[id] != nil }

  /// Removes the adder of a step that has left the queue.
  ///
  /// - Returns: The adder, if it was waiting for room.
  mutating func unpark(_ id: Int) -> Adder? { line.removeValue(forKey: id) }

  /// Admits the adder of step `id`, which has left, or the oldest one, if the steps that still wait
  /// leave room for its step.
  mutating func left(_ id: Int, waitingCount: Int) -> Adder? {
    // A step that was itself parked, and was moved, leaves no room behind; nor does one that was
    // replaced.
    unpark(id) ?? admitFirst(beside: waitingCount - parked)
  }

  /// - Returns: The oldest waiting adder.
  private mutating func admitFirst(beside admittedCount: Int) -> Adder? {
    while !line.isEmpty, hasRoom(beside: admittedCount) {
      defer { first += 1 }
      if let adder = line.removeValue(forKey: first) { return adder }
    }
    return nil
  }
}
