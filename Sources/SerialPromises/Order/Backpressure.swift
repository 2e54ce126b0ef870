/// An adder that waits for room.
final class ParkedAdder {
  /// Nil once it has been called: when there is room, or with false when none is needed any more.
  fileprivate(set) var admitted: (@Sendable (_ hasRoom: Bool) -> Void)?

  fileprivate init(_ admitted: @escaping @Sendable (Bool) -> Void) {
    self.admitted = admitted
  }
}

/// Keeps count of the adders that wait for room.
///
/// Their steps are in the queue already; only the call of `admitted` is held back. The calls come
/// in the order of parking, wherever the steps have been moved meanwhile.
struct Backpressure {
  /// How many steps may wait; nil means as many as there are.
  let capacity: Int?

  /// How many adders wait.
  private(set) var parked = 0

  /// The adders that wait, in the order of coming, and some that have been admitted.
  ///
  /// Not the records of their steps: the error of a step would be kept with its record.
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

  /// The step with this record has left the queue.
  ///
  /// - Returns: What tells its adder, if that waits for room.
  mutating func unpark(_ record: StepRecord?) -> (@Sendable (Bool) -> Void)? {
    guard parked > 0, let admitted = record?.adder?.admitted.take() else { return nil }
    parked -= 1
    // Cut when they are the larger part, so that a line whose first one stays does not grow for ever.
    if line.count > 2 * parked + 16 { line.removeAll { $0.admitted == nil } }
    return admitted
  }

  /// - Returns: What tells the adder that came first.
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
