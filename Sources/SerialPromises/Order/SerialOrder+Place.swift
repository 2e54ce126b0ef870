extension SerialOrder {
  /// Adds a step at a place.
  mutating func add(
    _ work: inout Work?, _ record: StepRecord, at place: PromiseManager.Place,
    lock: Locked<SerialOrder>, owner: PromiseManager?
  ) -> Admission {
    let admission = add(&work, record, lock: lock, owner: owner)
    // Under the same lock: no other thread has seen it elsewhere.
    if case .entered(_, let id, _) = admission, !isLast(place) { move(id, record, to: place) }
    return admission
  }

  private func isLast(_ place: PromiseManager.Place) -> Bool {
    if case .last = place { true } else { false }
  }

  /// Moves step `id`, if it waits.
  ///
  /// - Returns: How many slots were visited, for tests: no more than a few segments have, however many
  ///   steps wait; nil if the step does not wait.
  @discardableResult
  mutating func move(_ id: Int, _ record: StepRecord, to place: PromiseManager.Place) -> Int? {
    guard let segment = waitingSegment(of: id, record) else { return nil }
    // With no other step that waits, all places are the same.
    guard waitingCount > 1 else { return 0 }
    switch place {
    case .last:
      return queue.move(id, in: segment, to: .last)
    // The lock is compared first: this one does not guard the record of another manager's step.
    case .before(let other) where other.record.lock === record.lock:
      if other.id == id { return 0 }
      if let neighbor = waitingSegment(of: other.id, other.record) {
        return queue.move(id, in: segment, to: .before(other.id, neighbor))
      }
    case .first, .before: break
    }
    return queue.move(id, in: segment, to: .first(isRunning: isRunning))
  }

  /// The segment of step `id`, if it waits.
  private func waitingSegment(of id: Int, _ record: StepRecord) -> Segment? {
    guard let segment = record.segment, segment.slot(id).pointee.stage == .waiting else {
      return nil
    }
    return segment
  }
}
