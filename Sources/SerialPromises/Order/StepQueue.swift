/// A queue of slots in linked segments: no copying on growth, no allocation for each step,
/// constant-time `append` and `popFirst`.
///
/// The numbers within a segment are consecutive. Across segments they need not be, because a moved
/// step has a segment of its own. The segment and the number of a step identify its slot.
///
/// A segment in which every step was canceled or moved is removed immediately, except for the last
/// one. The queue therefore has at most two segments more than waiting steps.
///
/// Releasing a long queue would recurse through the links. Empty it with `removeSegment` instead.
struct StepQueue {
  private(set) var head: Segment?
  private(set) var tail: Segment?

  /// The limit of the tail's numbers and the end of its slots, for appending without touching the
  /// segment's reference count.
  ///
  /// The number equals `end` if there is no room, or if the next step's number does not belong to a
  /// slot of the tail.
  private var tailEnd = 1
  private var tailSlotsEnd: UnsafeMutablePointer<Slot>?

  /// The same for the head: the number and address of its first slot, and the end of its numbers.
  private var headBase = 1
  private var headSlots: UnsafeMutablePointer<Slot>?
  private var headEnd = 1

  /// The number of the first slot, which is the running step's if one runs.
  ///
  /// If no step runs, this step may have been canceled or moved, or the first segment may have no
  /// slot with this number.
  private(set) var first = 1

  /// The number of the next step to be added.
  private(set) var end = 1

  /// The number of waiting steps, without the canceled ones.
  private(set) var waitingCount = 0

  /// The record shared by the handles of plain steps.
  ///
  /// Most handles are discarded immediately, and the next step reuses the record. Another reference
  /// belongs to the handle of the last step, whose slot has no record yet.
  private var spare: StepRecord?

  /// The segment of the first slot.
  ///
  /// Requires that a step has been added.
  var firstSegment: Segment {
    guard let head else { preconditionFailure("the queue has had no step yet") }
    return head
  }

  /// The first slot.
  ///
  /// Requires a running step, or a preceding `skipVacant`.
  var firstSlot: UnsafeMutablePointer<Slot> {
    guard let headSlots else { preconditionFailure("the queue has had no step yet") }
    return headSlots + (first - headBase)
  }

  /// The record of the first slot, if there is one.
  ///
  /// Requires the same.
  var firstRecord: StepRecord? { firstSlot.pointee.record }

  /// Appends a running step without a record to an empty queue, if that takes only a slot.
  mutating func appendRunning() -> Bool {
    guard first == end, headEnd > end, tailEnd != end,
      spare == nil || isKnownUniquelyReferenced(&spare)
    else { return false }
    firstSlot.pointee.stage = .running
    end += 1
    return true
  }

  /// Appends a waiting step with the number `end`.
  ///
  /// - Returns: The record for its handle.
  @inline(__always)
  mutating func append(
    _ work: inout Work?, _ record: StepRecord?, lock: Locked<SerialOrder>
  ) -> StepRecord {
    if tailEnd == end { addSegment(lock) }
    guard let tailSlotsEnd else { preconditionFailure("there is a segment with room now") }
    let slot = tailSlotsEnd + (end - tailEnd)
    swap(&slot.pointee.work, &work)
    waitingCount += 1
    // Users of the last handle mutate it only under the lock, so that reuse is free of races.
    if record == nil, isKnownUniquelyReferenced(&spare), let spare {
      end += 1
      return spare
    }
    return appendRecorded(record, lock)
  }

  /// Completes `append` for a step with a record of its own, or for a plain step if the handle of
  /// the previous step is retained.
  @inline(never)
  private mutating func appendRecorded(
    _ record: StepRecord?, _ lock: Locked<SerialOrder>
  ) -> StepRecord {
    assignSpare()
    let id = end
    end += 1
    guard let record else {
      let made = StepRecord(lock)
      made.segment = tail
      spare = made
      return made
    }
    record.segment = tail
    tail?.slot(id).pointee.record = record
    return record
  }

  /// Assigns the spare record to its step if a handle retains it.
  private mutating func assignSpare() {
    guard spare != nil, !isKnownUniquelyReferenced(&spare), let record = spare.take() else {
      return
    }
    let id = end - 1
    // A step that failed or was canceled already has its record.
    guard let slot = record.segment?.slot(id), !slot.pointee.stage.isOver else {
      return record.close(.succeeded)
    }
    slot.pointee.record = record
  }

  /// Releases the spare record of a queue that will not be used again.
  mutating func removeSpare() {
    assignSpare()
    spare = nil
  }

  /// The record of a step, if it has one: in its slot, or because its handle is retained.
  mutating func existingRecord(of id: Int, in segment: Segment) -> StepRecord? {
    if let record = segment.slot(id).pointee.record { return record }
    guard id == end - 1, spare != nil, !isKnownUniquelyReferenced(&spare) else { return nil }
    let record = spare.take()
    segment.slot(id).pointee.record = record
    return record
  }

  /// Gives the first step, which has none, a record.
  mutating func record(_ record: StepRecord) {
    record.segment = head
    firstSlot.pointee.record = record
  }

  /// The numbers and records of the steps that have not ended, as far as they have a record.
  var records: [(id: Int, record: StepRecord)] {
    var records: [(id: Int, record: StepRecord)] = []
    var segment = head
    while let current = segment {
      let start = firstNumber(in: current)
      for id in start..<max(start, min(end, current.end)) {
        let slot = current.slot(id)
        guard !slot.pointee.stage.isOver, let record = slot.pointee.record else { continue }
        records.append((id, record))
      }
      segment = current.next
    }
    return records
  }

  /// The record of a step that has not ended; creates it if necessary.
  mutating func record(of id: Int, in segment: Segment) -> StepRecord {
    if let record = existingRecord(of: id, in: segment) { return record }
    let record = StepRecord(segment.lock)
    record.segment = segment
    segment.slot(id).pointee.record = record
    return record
  }

  @inline(never)
  private mutating func addSegment(_ lock: Locked<SerialOrder>) {
    // Grows from short segments: when additions alternate with moves to the end, each would
    // otherwise allocate a full segment.
    let capacity = tail.map { min(Segment.capacity, 2 * ($0.end - $0.base)) } ?? Segment.capacity
    let segment = Segment(base: end, capacity: capacity, lock: lock)
    addSegment(segment)
    tailEnd = segment.end
    tailSlotsEnd = segment.slots + capacity
  }

  /// Appends a segment without free slots.
  private mutating func addSegment(_ segment: Segment) {
    assignSpare()
    let last = tail
    if let last, tailEnd != end { cut(last, at: end) }
    link(segment, between: last, and: nil)
    tailEnd = end
    spare?.segment = segment
    // The segment holds no user objects, so it may be released under the lock.
    if let last, last.vacantCount == last.end - last.base { unlink(last) }
  }

  private mutating func link(_ segment: Segment, between previous: Segment?, and next: Segment?) {
    segment.previous = previous
    segment.next = next
    if let previous { previous.next = segment } else { setHead(segment) }
    if let next { next.previous = segment } else { tail = segment }
  }

  private mutating func setHead(_ segment: Segment) {
    head = segment
    headBase = segment.base
    headSlots = segment.slots
    headEnd = segment.end
    first = segment.start
  }

  /// Ends a segment before a number.
  private mutating func cut(_ segment: Segment, at id: Int) {
    segment.end = id
    if segment === head { headEnd = id }
  }

  /// Makes the first step the running one.
  ///
  /// Requires a preceding `skipVacant`.
  ///
  /// - Returns: Its handler.
  mutating func begin() -> Work? {
    waitingCount -= 1
    firstSlot.pointee.stage = .running
    return firstSlot.pointee.work.take()
  }

  /// Removes the running step.
  mutating func endFirst() {
    firstSlot.pointee.stage = .over
    first += 1
  }

  /// Advances to the first waiting step.
  ///
  /// Requires that one waits and none runs.
  ///
  /// - Returns: A segment that was removed on the way; release it after the lock, and call again.
  ///   Nil when the first step waits.
  @inline(__always)
  mutating func skipVacant() -> Segment? {
    while true {
      if let released = removePoppedSegment() { return released }
      if firstSlot.pointee.stage == .waiting { return nil }
      first += 1
    }
  }

  /// Removes the first segment if all its slots have been popped and another segment follows.
  ///
  /// - Returns: The segment, to release after the lock is released.
  @inline(__always)
  mutating func removePoppedSegment() -> Segment? {
    guard first == headEnd, let head, head.next != nil else { return nil }
    unlink(head)
    return head
  }

  /// Records that a waiting step was canceled.
  ///
  /// - Returns: The segment if it was removed, to release after the lock is released.
  mutating func cancelled(in segment: Segment) -> Segment? {
    waitingCount -= 1
    return leave(segment)
  }

  /// Removes a segment if all of its steps are canceled or moved, as another one is now.
  private mutating func leave(_ segment: Segment) -> Segment? {
    segment.vacantCount += 1
    guard segment.vacantCount == segment.end - segment.base, segment.next != nil else { return nil }
    unlink(segment)
    return segment
  }

  /// Removes a segment other than the last one.
  private mutating func unlink(_ segment: Segment) {
    guard let next = segment.next else { return }
    if let previous = segment.previous { previous.next = next } else { setHead(next) }
    next.previous = segment.previous
    // Otherwise a reference to a removed segment would retain all later ones.
    segment.next = nil
    segment.previous = nil
  }

  /// Removes the first segment of a queue that will not be used again.
  mutating func removeSegment() -> Segment? {
    guard let head else { return nil }
    self.head = head.next
    if self.head == nil { tail = nil }
    self.head?.previous = nil
    head.next = nil
    return head
  }

  /// The next range of slots to sweep for waiting steps.
  ///
  /// Skips ranges that an earlier sweep has visited, so that a sweep takes time proportional to the
  /// number of segments with waiting steps.
  ///
  /// - Returns: A segment and the numbers of its slots; nil when all have been visited.
  mutating func nextToSweep() -> (Segment, Range<Int>)? {
    var segment = head
    while let current = segment {
      let start = firstNumber(in: current)
      let limit = min(end, current.end)
      if start < limit {
        current.start = limit
        return (current, start..<limit)
      }
      segment = current.next
    }
    return nil
  }

  /// The first number in a segment whose step may wait or run.
  private func firstNumber(in segment: Segment) -> Int {
    segment === head ? max(first, segment.start) : segment.start
  }
}

// MARK: Moving

extension StepQueue {
  /// The destination of a move.
  ///
  /// Requires another waiting step.
  enum Destination {
    /// Before all waiting steps.
    case first(isRunning: Bool)
    /// After all waiting steps.
    case last
    /// Before another waiting step, in its segment.
    case before(Int, Segment)
  }

  /// Moves step `id`, if it waits.
  ///
  /// - Parameters:
  ///   - id: The step.
  ///   - record: Its record.
  ///   - place: Its new place.
  ///   - isRunning: Whether the first step runs.
  /// - Returns: The number of visited slots, for tests: bounded by a few segments, independent of
  ///   the number of waiting steps. Nil if the step does not wait.
  @discardableResult
  mutating func move(
    _ id: Int, _ record: StepRecord, to place: StepPlace, isRunning: Bool
  ) -> Int? {
    guard let segment = record.segmentOfWaiting(id) else { return nil }
    // Without another waiting step, all places are equal.
    guard waitingCount > 1 else { return 0 }
    switch place {
    case .first:
      return move(id, in: segment, to: .first(isRunning: isRunning))
    case .last:
      return move(id, in: segment, to: .last)
    case .before(let other), .replacing(let other):
      guard let neighbor = other.segmentOfWaiting(in: record.lock) else {
        let isReplacing = if case .replacing = place { true } else { false }
        return move(id, in: segment, to: isReplacing ? .last : .first(isRunning: isRunning))
      }
      if other.id == id { return 0 }
      return move(id, in: segment, to: .before(other.id, neighbor))
    }
  }

  /// Moves a waiting step to a segment of its own, with the same number.
  ///
  /// - Returns: The number of visited slots, for tests: bounded by a few segments.
  mutating func move(_ id: Int, in segment: Segment, to destination: Destination) -> Int {
    // Handles find their steps through the records in the slots.
    assignSpare()
    let record = record(of: id, in: segment)
    let single = Segment(base: id, capacity: 1, lock: segment.lock)
    swap(&single.slots.pointee, &segment.slot(id).pointee)
    segment.slot(id).pointee.stage = .moved
    record.segment = single
    // A removed segment holds no user objects, so it may be released under the lock.
    _ = leave(segment)
    switch destination {
    case .last:
      addSegment(single)
      return 1
    case .before(let other, let segment):
      return insert(single, before: other, in: segment) + 1
    case .first(isRunning: false):
      // Skips these slots now instead of at the start of the next step.
      while skipVacant() != nil {}
      guard let head else { preconditionFailure("another step waits") }
      return insert(single, before: first, in: head) + 1
    case .first(isRunning: true):
      guard let head else { preconditionFailure("a step runs") }
      let visited = first + 1 < min(end, headEnd) ? split(head, at: first + 1) : 0
      link(single, between: head, and: head.next)
      return visited + 1
    }
  }

  /// - Returns: The number of visited slots.
  private mutating func insert(_ single: Segment, before id: Int, in segment: Segment) -> Int {
    // Not from `start`, which a sweep moves past the running step.
    let before = (segment === head ? first : segment.start)..<id
    let isFirst = before.allSatisfy { segment.slot($0).pointee.stage.isOver }
    guard isFirst else {
      let visited = split(segment, at: id)
      link(single, between: segment, and: segment.next)
      return visited + before.count
    }
    let rest = id..<min(end, segment.end)
    if segment === head {
      // The segment is no longer the head, so the steps that ran count as vacant.
      segment.vacantCount =
        id - segment.base + rest.count { segment.slot($0).pointee.stage != .waiting }
    }
    segment.start = id
    link(single, between: segment.previous, and: segment)
    return before.count + rest.count
  }

  /// Splits a segment before a number.
  ///
  /// A step with a smaller number must wait or run in it.
  ///
  /// - Returns: The number of visited slots.
  private mutating func split(_ segment: Segment, at id: Int) -> Int {
    let ids = id..<min(end, segment.end)
    let waitingCount = ids.count { segment.slot($0).pointee.stage == .waiting }
    segment.vacantCount -= ids.count - waitingCount
    let isLast = segment.next == nil
    // Only the last segment may have no waiting steps.
    guard waitingCount > 0 || isLast else {
      cut(segment, at: id)
      return ids.count
    }
    let rest = Segment(base: id, capacity: segment.end - id, lock: segment.lock)
    rest.vacantCount = ids.count - waitingCount
    for id in ids {
      swap(&segment.slot(id).pointee, &rest.slot(id).pointee)
      let slot = rest.slot(id)
      // A step that leaves is ended through its record.
      if [.waiting, .leaving].contains(slot.pointee.stage) { slot.pointee.record?.segment = rest }
    }
    cut(segment, at: id)
    link(rest, between: segment, and: segment.next)
    if isLast {
      // The new segment has the room of the one that was split.
      tailSlotsEnd = rest.slots + (rest.end - id)
      spare?.segment = rest
    }
    return 2 * ids.count
  }
}
