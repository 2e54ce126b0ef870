/// A handler in a structure: a bare closure in an optional would be wrapped in a second one.
struct Work {
  let call: Promisable.Handler
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
    /// → running, cancelled
    case waiting
    /// → succeeded, failed, cancelled
    case running
    case succeeded, failed, cancelled

    var isOver: Bool { self != .waiting && self != .running }
  }
}

/// A run of slots, allocated at once: a waiting step costs its slot and no object of its own.
final class Segment: @unchecked Sendable {
  // Sendable because everything that changes is touched only under `lock`, and afterwards by
  // `deinit`, when there is no other reference to the segment.
  static let capacity = 64

  /// The number of the first slot's step.
  let base: Int

  /// What guards this segment; the manager's `deinit` undoes the cycle.
  let lock: Locked<SerialOrder>

  let slots: UnsafeMutablePointer<Slot>
  fileprivate(set) var next: Segment?

  /// The segment before; the two retain each other until one of them is taken out.
  fileprivate var previous: Segment?

  /// How many steps were cancelled while they waited.
  fileprivate var cancelledCount = 0

  init(base: Int, lock: Locked<SerialOrder>) {
    self.base = base
    self.lock = lock
    slots = .allocate(capacity: Segment.capacity)
    slots.initialize(repeating: Slot(), count: Segment.capacity)
  }

  deinit {
    slots.deinitialize(count: Segment.capacity)
    slots.deallocate()
  }

  func slot(_ id: Int) -> UnsafeMutablePointer<Slot> { slots + (id - base) }

  func identity(of id: Int) -> StepIdentity {
    StepIdentity(id: id, name: slot(id).pointee.record?.name)
  }
}

/// A first-in, first-out queue of slots in linked segments: no growth by copying, no object a
/// step, and `append` and `popFirst` take constant time.
///
/// A segment in which every step was cancelled is taken out at once, wherever it is, except for the
/// last one. So a queue has no more segments than steps that wait, and two.
///
/// Dropping a long queue would recurse through the links; `removeSegment` it empty instead.
struct StepQueue {
  private(set) var head: Segment?
  private(set) var tail: Segment?

  /// The number after the last that the tail has room for, and the end of its slots: to append
  /// without touching the segment's reference count.
  private var tailEnd = 1
  private var tailSlotsEnd: UnsafeMutablePointer<Slot>?

  /// The place of the first slot, likewise.
  private var headBase = 1
  private var headSlots: UnsafeMutablePointer<Slot>?

  /// The number of the first step in the queue and, if it is empty, of the next to be added.
  ///
  /// Those that follow may have numbers in between left out: segments that were taken out.
  private(set) var first = 1

  /// The number of the next step to be added.
  private(set) var end = 1

  /// The record for the handles of plain steps.
  ///
  /// Most handles are dropped at once, and the next one gets the same record. If another reference
  /// exists, it is that of the handle of the last step, which has no record in its slot then.
  private var spare: StepRecord?

  /// No step before this number waits.
  private var firstWaiting = 1

  var isEmpty: Bool { first == end }

  /// The segment of the first slot; only for a queue that has had a step.
  var firstSegment: Segment {
    guard let head else { preconditionFailure("the queue has had no step yet") }
    return head
  }

  /// The first slot; only for a queue that is not empty and has no spent segment.
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
    assignSpare()
    let segment = Segment(base: end, lock: lock)
    let full = tail
    if let full { full.next = segment } else { setHead(segment) }
    segment.previous = full
    tail = segment
    tailEnd = end + Segment.capacity
    tailSlotsEnd = segment.slots + Segment.capacity
    spare?.segment = segment
    // Nothing of the user's is in it any more: it may be released under the lock.
    if let full, full.cancelledCount == Segment.capacity { unlink(full) }
  }

  private mutating func setHead(_ segment: Segment) {
    head = segment
    headBase = segment.base
    headSlots = segment.slots
  }

  /// Whether a step waits.
  ///
  /// Takes time in proportion to the segments before its own.
  func isWaiting(_ id: Int) -> Bool {
    var segment = head
    while let current = segment, id >= current.base + Segment.capacity { segment = current.next }
    guard let segment, id >= segment.base else { return false }
    return segment.slot(id).pointee.stage == .waiting
  }

  mutating func popFirst() {
    first += 1
  }

  /// Takes out the first segment if all its slots have been popped and another follows it.
  ///
  /// - Returns: The segment, to be released after the lock.
  mutating func removeSpentSegment() -> Segment? {
    guard first - headBase == Segment.capacity, let head, head.next != nil else { return nil }
    unlink(head)
    return head
  }

  /// A step that waited was cancelled: takes its segment out if it was the last one there.
  ///
  /// - Returns: The segment, to be released after the lock, and the next one.
  mutating func cancelled(in segment: Segment) -> (segment: Segment, next: Segment)? {
    segment.cancelledCount += 1
    guard segment.cancelledCount == Segment.capacity, let next = segment.next else { return nil }
    unlink(segment)
    return (segment, next)
  }

  /// Takes out a segment that is not the last one.
  private mutating func unlink(_ segment: Segment) {
    guard let next = segment.next else { return }
    if let previous = segment.previous {
      previous.next = next
    } else {
      setHead(next)
      first = next.base
    }
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
      let start = max(first, firstWaiting, current.base)
      let limit = min(end, current.base + Segment.capacity)
      if start < limit {
        firstWaiting = limit
        return (current, start..<limit)
      }
      segment = current.next
    }
    return nil
  }
}
