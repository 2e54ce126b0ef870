/// Wraps a handler for storage: a bare closure in an optional would be wrapped in another closure.
struct Work {
  typealias Handler = @Sendable (_ then: Then) -> Void

  let call: Handler

  init(_ call: @escaping Handler) { self.call = call }

  /// Removes the isolation from the type of a handler: the caller guarantees it, as for
  /// `unisolated`.
  ///
  /// A cast of structures: the compiler would wrap a function in others.
  @inline(__always)
  init(unisolated handler: @escaping @isolated(any) @Sendable (_ then: Then) -> Void) {
    self = unsafeBitCast(Isolated(call: handler), to: Work.self)
  }

  private struct Isolated {
    let call: @isolated(any) @Sendable (_ then: Then) -> Void
  }
}

/// A slot of the queue: holds a step from its addition to its end.
struct Slot {
  /// The handler.
  ///
  /// Nil after it has been taken, so that a step that ran or was canceled retains nothing. The slot
  /// of a waiting step without one is that of code in a task.
  var work: Work?

  var stage = Stage.waiting

  /// State that few steps need.
  ///
  /// After the step has ended, the record remains only if it has a name, for diagnostics.
  var record: StepRecord?

  /// Whether the handler belongs to an actor.
  var isOfActor: Bool { record?.isolation != nil }

  enum Stage: UInt8 {
    /// → running, leaving, over, moved
    case waiting
    /// → over
    case running
    /// The step has ended; its record has the outcome.
    case over
    /// The step was canceled, and its work is being canceled. → over
    case leaving
    /// The step waits in another slot of the queue.
    case moved

    var isOver: Bool { self != .waiting && self != .running }
  }
}

/// A block of slots for steps with consecutive numbers.
///
/// A waiting step costs its slot, without an allocation of its own.
final class Segment {
  // Mutable state is accessed only under `lock`, and later by `deinit`, which has the only
  // reference.

  /// The number of slots in a regular segment.
  static let capacity = 64

  /// The number of the first slot's step.
  let base: Int

  /// One more than the number of the last slot.
  ///
  /// In the last segment of the queue, slots before this number may be free.
  var end: Int

  /// No step with a smaller number waits here.
  var start: Int

  /// The lock that protects this segment; the manager's `deinit` breaks the cycle.
  let lock: Locked<SerialOrder>

  let slots: UnsafeMutablePointer<Slot>
  private let capacity: Int
  var next: Segment?

  /// The segment before.
  ///
  /// Two neighbors retain each other until one of them is removed.
  var previous: Segment?

  /// The number of slots whose step was canceled while waiting, or moved.
  ///
  /// In the first segment, steps that ran are not counted.
  var vacantCount = 0

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

  /// Whether a slot of this segment has this number.
  func contains(_ id: Int) -> Bool { id >= base && id < end }

  func slot(_ id: Int) -> UnsafeMutablePointer<Slot> { slots + (id - base) }

  func identity(of id: Int) -> StepIdentity {
    StepIdentity(id: id, name: slot(id).pointee.record?.name)
  }
}
