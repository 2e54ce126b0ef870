/// A handler in a structure: a bare closure in an optional would be wrapped in a second one.
struct Work {
  let call: Promisable.Handler
}

/// One place in the queue: a step from its adding until nobody holds its handle any more.
struct Slot {
  /// What to run; nil as soon as it has been handed out, so that nothing is kept alive by a step
  /// that ran or was cancelled.
  var work: Work?

  var stage = Stage.waiting

  /// What only few steps need; the others do not pay for it.
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

/// What only named, watched, failed, parked or resumed steps have.
final class StepRecord {
  var name: String?
  var error: (any Error)?
  var observers: [@Sendable (StepOutcome) -> Void] = []

  /// What the running step goes on with, one after another.
  var resumptions: [Resumption] = []

  /// Called when the step is cancelled while it waits.
  var whenCancelled: (@Sendable () -> Void)?

  /// Tells an adder that waits for room: true when there is some, false when it is not needed.
  var admitted: (@Sendable (_ hasRoom: Bool) -> Void)?

  init(name: String? = nil) {
    self.name = name
  }
}

/// A run of slots, allocated at once: a waiting step costs its slot and no object of its own.
///
/// A handle holds its segment, so that the outcome is there as long as somebody may ask for it
/// and gone afterwards.
final class Segment: @unchecked Sendable {
  // Sendable because `slots` and `next` are touched only under `lock`, and afterwards by
  // `deinit`, when nobody else holds the segment.
  static let capacity = 64

  /// The number of the first slot's step.
  let base: Int

  /// What guards this segment.
  ///
  /// It lives as long as a handle, longer than the manager, whose `deinit` undoes the cycle.
  let lock: Locked<SerialOrder>

  let slots: UnsafeMutablePointer<Slot>
  fileprivate(set) var next: Segment?

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

  /// The record of a step that needs one from now on.
  func record(of id: Int) -> StepRecord {
    if let record = slots[id - base].record { return record }
    let record = StepRecord()
    slots[id - base].record = record
    return record
  }
}

/// A first-in, first-out queue of slots in linked segments: no growth by copying, no object a
/// step, and `append` and `popFirst` take constant time.
///
/// Dropping a long queue would recurse through the links; `popFirst` it empty instead.
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
  private(set) var first = 1

  /// The number of the next step to be added.
  private(set) var end = 1

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
  @inline(__always)
  mutating func append(
    _ work: inout Work?, _ record: StepRecord?, lock: Locked<SerialOrder>
  ) {
    if tailEnd == end { addSegment(lock) }
    guard let tailSlotsEnd else { preconditionFailure("there is a segment with room now") }
    let slot = tailSlotsEnd + (end - tailEnd)
    swap(&slot.pointee.work, &work)
    if let record { slot.pointee.record = record }
    end += 1
  }

  @inline(never)
  private mutating func addSegment(_ lock: Locked<SerialOrder>) {
    let segment = Segment(base: end, lock: lock)
    if let tail { tail.next = segment } else { setHead(segment) }
    tail = segment
    tailEnd = end + Segment.capacity
    tailSlotsEnd = segment.slots + Segment.capacity
  }

  private mutating func setHead(_ segment: Segment) {
    head = segment
    headBase = segment.base
    headSlots = segment.slots
  }

  mutating func popFirst() {
    first += 1
  }

  /// Takes out the first segment if all its slots have been popped and another follows it.
  ///
  /// - Returns: The segment. It may hold the last reference to somebody's error, so it is to be
  ///   released after the lock.
  mutating func removeSpentSegment() -> Segment? {
    guard first - headBase == Segment.capacity, let head, let next = head.next else { return nil }
    // Or a handle to an old step would keep all later segments alive.
    head.next = nil
    setHead(next)
    return head
  }

  /// Takes out the segments of a queue that will not be used again, the first of those left.
  mutating func removeSegment() -> Segment? {
    guard let head else { return nil }
    self.head = head.next
    if self.head == nil { tail = nil }
    head.next = nil
    return head
  }

  /// The slots from the first on, each with its number and its segment.
  func forEach(_ body: (_ id: Int, Segment) -> Void) {
    guard var segment = head else { return }
    for id in first..<end {
      if id - segment.base == Segment.capacity, let next = segment.next { segment = next }
      body(id, segment)
    }
  }
}
