/// Keeps count of the adders that wait for room.
///
/// Their steps are in the queue already, behind all others; what is held back is only the news
/// that there is room. So there is no second queue, and the order of adding is kept.
struct Backpressure {
  /// How many steps may wait; nil means as many as there are.
  let capacity: Int?

  /// How many adders wait.
  var parked = 0

  /// The first slot that may be parked.
  ///
  /// While any is parked, an admitted step waits before it, or it waits itself, so this slot's
  /// segment is still in the queue; if all in it are cancelled, the cursor moves on to the next.
  var cursor: (segment: Segment, id: Int)?
}

extension SerialOrder {
  /// Whether one more step may wait.
  var hasRoom: Bool { backpressure.capacity.map { waitingCount < $0 } ?? true }

  /// Adds a step although there may be no room, and tells the adder when there is.
  ///
  /// `admitted` is called when the step has come within the capacity, or with false when it was
  /// cancelled before.
  mutating func addWhenRoom(
    _ handler: @escaping Promisable.Handler, _ record: StepRecord, lock: Locked<SerialOrder>,
    owner: PromiseManager?, admitted: @escaping @Sendable (Bool) -> Void,
    _ consequences: inout Consequences?
  ) -> Admission {
    if isClosed { return .refused(.closed) }
    let hasRoom = hasRoom
    var work: Work? = Work(call: handler)
    let admission = enter(&work, record, lock: lock, owner: owner)
    if hasRoom {
      consequences.needed.call { admitted(true) }
    } else if case .entered(_, let id, _) = admission, let segment = record.segment {
      record.admitted = admitted
      if backpressure.parked == 0 { backpressure.cursor = (segment, id) }
      backpressure.parked += 1
    }
    return admission
  }

  /// A step that had room has left: the first one parked has room now.
  mutating func admitParked(_ consequences: inout Consequences?) {
    guard var (segment, id) = backpressure.cursor else { return }
    while id < queue.end {
      if id - segment.base == Segment.capacity {
        guard let next = segment.next else { return }
        // Segments in between may have been taken out.
        (segment, id) = (next, next.base)
      }
      let record = segment.slots[id - segment.base].record
      id += 1
      guard let admitted = record?.admitted.take() else { continue }
      consequences.needed.call { admitted(true) }
      backpressure.parked -= 1
      backpressure.cursor = backpressure.parked > 0 ? (segment, id) : nil
      return
    }
  }
}
