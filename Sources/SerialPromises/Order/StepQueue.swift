/// A handler in a structure: a bare closure in an optional would be wrapped in a second one.
struct Work {
  typealias Handler = @Sendable (_ then: Then) -> Void

  let call: Handler
}

/// One place in the queue: a step from its adding until it is over.
struct Slot {
  /// What to run; nil as soon as it has been handed out, so that nothing is kept alive by a step
  /// that ran or was cancelled.
  var work: Work?

  var stage = Stage.waiting

  /// What only few steps need; the others do not pay for it.
  ///
  /// When the step is over, its record stays only if it has a name, for diagnostics.
  var record: StepRecord?

  enum Stage: UInt8 {
    /// → running, cancelled, moved
    case waiting
    /// → succeeded, failed, cancelled
    case running
    case succeeded, failed, cancelled
    /// The step waits elsewhere in the queue, in another slot.
    case moved

    var isOver: Bool { self != .waiting && self != .running }
  }
}

/// Slots of steps with successive numbers, allocated at once: a waiting step costs its slot and no
/// object of its own.
final class Segment: @unchecked Sendable {
  // Sendable because everything that changes is touched only under `lock`, and afterwards by
  // `deinit`, when there is no other reference to the segment.

  /// How many slots a segment has, unless it was made for fewer.
  static let capacity = 64

  /// The number of the first slot's step.
  let base: Int

  /// The number after that of the last slot.
  ///
  /// In the last segment of the queue, slots up to here may still be free.
  fileprivate(set) var end: Int

  /// No step before this number waits here.
  fileprivate var start: Int

  /// What guards this segment; the manager's `deinit` undoes the cycle.
  let lock: Locked<SerialOrder>

  let slots: UnsafeMutablePointer<Slot>
  private let capacity: Int
  fileprivate(set) var next: Segment?

  /// The segment before; the two retain each other until one of them is taken out.
  fileprivate var previous: Segment?

  /// In how many slots the step was cancelled while it waited, or moved.
  ///
  /// In the first segment, steps that ran are not counted.
  fileprivate var vacantCount = 0

  init(base: Int, capacity: Int = Segment.capacity, lock: Locked<SerialOrder>) {
    self.base = base
    self.capacity = capacity
    self.lock = lock
    end = base + capacity
    start = base
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: Slot(), count: capacity)
  }

  deinit {
    slots.deinitialize(count: capacity)
    slots.deallocate()
  }

  /// Whether a step that has this number has had a slot here.
  func contains(_ id: Int) -> Bool { id >= base && id < end }

  func slot(_ id: Int) -> UnsafeMutablePointer<Slot> { slots + (id - base) }

  func identity(of id: Int) -> StepIdentity {
    StepIdentity(id: id, name: slot(id).pointee.record?.name)
  }
}

/// A queue of slots in linked segments: no growth by copying, no object a step, and `append` and
/// `popFirst` take constant time.
///
/// Within a segment the numbers of the steps follow one another; from one segment to the next they
/// need not, because a step that has been given another place has a segment of its own there. So a
/// step's slot is found by its segment and its number, wherever it is.
///
/// A segment in which every step was cancelled or moved is taken out at once, wherever it is, except
/// for the last one. So a queue has no more segments than steps that wait, and two.
///
/// Dropping a long queue would recurse through the links; `removeSegment` it empty instead.
struct StepQueue {
  private(set) var head: Segment?
  private(set) var tail: Segment?

  /// The number after the last that the tail has room for, and the end of its slots: to append
  /// without touching the segment's reference count.
  ///
  /// The number is `end` if there is no room, or the number of the next step would not be that of a
  /// slot of the tail.
  private var tailEnd = 1
  private var tailSlotsEnd: UnsafeMutablePointer<Slot>?

  /// The place of the first slot, and the end of its segment, likewise.
  private var headBase = 1
  private var headSlots: UnsafeMutablePointer<Slot>?
  private var headEnd = 1

  /// The number of the first slot: of the step that runs, if one does.
  ///
  /// If none runs, its step may have been cancelled or moved, or there may be no slot with the number
  /// in the first segment.
  private(set) var first = 1

  /// The number of the next step to be added.
  private(set) var end = 1

  /// The record for the handles of plain steps.
  ///
  /// Most handles are dropped at once, and the next one gets the same record. If another reference
  /// exists, it is that of the handle of the last step, which has no record in its slot then.
  private var spare: StepRecord?

  /// The segment of the first slot; only for a queue that has had a step.
  var firstSegment: Segment {
    guard let head else { preconditionFailure("the queue has had no step yet") }
    return head
  }

  /// The first slot; only for a queue in which a step runs, or `skipGone` has come to one that waits.
  var firstSlot: UnsafeMutablePointer<Slot> {
    guard let headSlots else { preconditionFailure("the queue has had no step yet") }
    return headSlots + (first - headBase)
  }

  /// Appends a waiting step, which becomes number `end`.
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
    // Written by the last handle's users under the lock only, so that reuse is no race with them.
    if record == nil, isKnownUniquelyReferenced(&spare), let spare {
      end += 1
      return spare
    }
    return appendRecorded(record, lock)
  }

  /// Finishes `append` for a step with a record of its own, or for a plain one that needs one because
  /// the handle of the step before is kept.
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

  /// If the spare record is that of a handle that is kept, gives it to its step.
  private mutating func assignSpare() {
    guard spare != nil, !isKnownUniquelyReferenced(&spare), let record = spare.take() else {
      return
    }
    let id = end - 1
    // One that failed or was cancelled has been given its record already.
    guard let slot = record.segment?.slot(id), !slot.pointee.stage.isOver else {
      return record.close(.succeeded)
    }
    slot.pointee.record = record
  }

  /// Releases the spare record; only for a queue that will not be used again.
  mutating func removeSpare() {
    assignSpare()
    spare = nil
  }

  /// The record of a step, if it has one: in its slot, or because its handle is kept.
  mutating func existingRecord(of id: Int, in segment: Segment) -> StepRecord? {
    if let record = segment.slot(id).pointee.record { return record }
    guard id == end - 1, spare != nil, !isKnownUniquelyReferenced(&spare) else { return nil }
    let record = spare.take()
    segment.slot(id).pointee.record = record
    return record
  }

  /// The record of a step that is not over and needs one from now on.
  mutating func record(of id: Int, in segment: Segment) -> StepRecord {
    if let record = existingRecord(of: id, in: segment) { return record }
    let record = StepRecord(segment.lock)
    record.segment = segment
    segment.slot(id).pointee.record = record
    return record
  }

  @inline(never)
  private mutating func addSegment(_ lock: Locked<SerialOrder>) {
    // Behind a short segment a short one: or where steps are added and moved to the end by turns, each
    // would cost a whole segment.
    let capacity = tail.map { min(Segment.capacity, 2 * ($0.end - $0.base)) } ?? Segment.capacity
    let segment = Segment(base: end, capacity: capacity, lock: lock)
    addSegment(segment)
    tailEnd = segment.end
    tailSlotsEnd = segment.slots + capacity
  }

  /// Adds a segment without room behind all others.
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

  /// Leaves the slots from this number on to others.
  private mutating func cut(_ segment: Segment, at id: Int) {
    segment.end = id
    if segment === head { headEnd = id }
  }

  mutating func popFirst() {
    first += 1
  }

  /// Comes to the first step that waits; only for a queue in which one does, and none runs.
  ///
  /// - Returns: A segment that was passed and taken out, to be released after the lock, before this is
  ///   called again; nil when the first step waits.
  @inline(__always)
  mutating func skipVacant() -> Segment? {
    while true {
      if let released = removePoppedSegment() { return released }
      if firstSlot.pointee.stage == .waiting { return nil }
      popFirst()
    }
  }

  /// Takes out the first segment if all its slots have been popped and another follows it.
  ///
  /// - Returns: The segment, to be released after the lock.
  @inline(__always)
  mutating func removePoppedSegment() -> Segment? {
    guard first == headEnd, let head, head.next != nil else { return nil }
    unlink(head)
    return head
  }

  /// A step that waited was cancelled, or moved: takes its segment out if it was the last one there.
  ///
  /// - Returns: The segment, to be released after the lock.
  mutating func leave(_ segment: Segment) -> Segment? {
    segment.vacantCount += 1
    guard segment.vacantCount == segment.end - segment.base, segment.next != nil else { return nil }
    unlink(segment)
    return segment
  }

  /// Takes out a segment that is not the last one.
  private mutating func unlink(_ segment: Segment) {
    guard let next = segment.next else { return }
    if let previous = segment.previous { previous.next = next } else { setHead(next) }
    next.previous = segment.previous
    // Or a reference to an old segment would keep all later ones alive.
    segment.next = nil
    segment.previous = nil
  }

  /// Takes out the segments of a queue that will not be used again, the first of those left.
  mutating func removeSegment() -> Segment? {
    guard let head else { return nil }
    self.head = head.next
    if self.head == nil { tail = nil }
    self.head?.previous = nil
    head.next = nil
    return head
  }

  /// The next slots in which steps may wait: all of them are to be looked at, and cancelled.
  ///
  /// Passes over what an earlier sweep has passed, so that a sweep takes time in proportion to the
  /// segments in which steps wait.
  ///
  /// - Returns: A segment and the numbers of its slots; nil, and all has been passed, when there are
  ///   none left.
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

  /// The number before which no step in a segment waits or runs.
  private func firstNumber(in segment: Segment) -> Int {
    segment === head ? max(first, segment.start) : segment.start
  }
}

// MARK: Moving

extension StepQueue {
  /// Where a step that waits is moved; there has to be another one that waits.
  enum Destination {
    /// Before all that wait.
    case first(isRunning: Bool)
    /// Behind all that wait.
    case last
    /// Before another step that waits, in its segment.
    case before(Int, Segment)
  }

  /// Moves a step that waits: to a segment of its own, with the same number.
  ///
  /// - Returns: How many slots were visited, for tests: a few segments' at most.
  mutating func move(_ id: Int, in segment: Segment, to destination: Destination) -> Int {
    // The handles find their steps by the records in the slots.
    assignSpare()
    let record = record(of: id, in: segment)
    let single = Segment(base: id, capacity: 1, lock: segment.lock)
    swap(&single.slots.pointee, &segment.slot(id).pointee)
    segment.slot(id).pointee.stage = .moved
    record.segment = single
    // Nothing of the user's is in a segment that is taken out: it may be released under the lock.
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

  /// - Returns: How many slots were visited.
  private mutating func insert(_ single: Segment, before id: Int, in segment: Segment) -> Int {
    let before = firstNumber(in: segment)..<id
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

  /// Cuts a segment in two before a number; a step in front of it has to wait there, or run.
  ///
  /// - Returns: How many slots were visited.
  private mutating func split(_ segment: Segment, at id: Int) -> Int {
    let ids = id..<min(end, segment.end)
    let waitingCount = ids.count { segment.slot($0).pointee.stage == .waiting }
    segment.vacantCount -= ids.count - waitingCount
    let isLast = segment.next == nil
    // Only the last segment may be one in which none waits.
    guard waitingCount > 0 || isLast else {
      cut(segment, at: id)
      return ids.count
    }
    let rest = Segment(base: id, capacity: segment.end - id, lock: segment.lock)
    rest.vacantCount = ids.count - waitingCount
    for id in ids {
      swap(&segment.slot(id).pointee, &rest.slot(id).pointee)
      let slot = rest.slot(id)
      if slot.pointee.stage == .waiting { slot.pointee.record?.segment = rest }
    }
    cut(segment, at: id)
    link(rest, between: segment, and: segment.next)
    if isLast {
      // It has the room of the one that was cut.
      tailSlotsEnd = rest.slots + (rest.end - id)
      spare?.segment = rest
    }
    return 2 * ids.count
  }
}
