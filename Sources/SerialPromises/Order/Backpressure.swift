/// An adder that waits for room.
final class ParkedAdder {
  /// Called with true when there is room, or false when none is needed.
  ///
  /// Nil after the call.
  fileprivate(set) var admitted: (@Sendable (_ hasRoom: Bool) -> Void)?

  fileprivate init(_ admitted: @escaping @Sendable (Bool) -> Void) {
    self.admitted = admitted
  }
}

/// Tracks the adders that wait for room.
///
/// Their steps are already in the queue; only the calls of `admitted` are deferred. The adders are
/// admitted in the order of arrival, even if their steps have been moved.
struct Backpressure {
  /// The maximum number of waiting steps; nil means no limit.
  let capacity: Int?

  /// The number of adders that wait.
  private(set) var parked = 0

  /// The waiting adders in the order of arrival, mixed with some admitted ones.
  ///
  /// Does not hold the step records, because they would retain the errors of the steps.
  private(set) var line = Fifo<ParkedAdder>()

  init(capacity: Int?) {
    self.capacity = capacity
  }

  mutating func park(
    _ record: StepRecord, _ admitted: @escaping @Sendable (Bool) -> Void
  ) {
    let adder = ParkedAdder(admitted)
    record.adder = adder
    line.append(adder)
    parked += 1
  }

  /// Removes the adder of a step that has left the queue.
  ///
  /// - Returns: The callback of the adder, if it was waiting for room.
  mutating func unpark(_ record: StepRecord?) -> (@Sendable (Bool) -> Void)? {
    guard parked > 0, let admitted = record?.adder?.admitted.take() else { return nil }
    parked -= 1
    // Compacts when admitted adders are the majority, so that the line does not grow without bound.
    if line.count > 2 * parked + 16 { line.removeAll { $0.admitted == nil } }
    return admitted
  }

  /// - Returns: The callback of the oldest waiting adder.
  mutating func admitFirst() -> (@Sendable (Bool) -> Void)? {
    guard parked > 0 else { return nil }
    while let adder = line.popFirst() {
      guard let admitted = adder.admitted.take() else { continue }
      parked -= 1
      return admitted
    }
    return nil
  }
}
