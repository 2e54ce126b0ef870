/// A further handler of a step that has begun, for when none of it is on the stack.
///
/// What a step does later than its handler was called, after a delay for instance, is its handler as
/// much: it holds up the next step until it has returned, and is not to begin once the step is over.
final class Resumption: Sendable {
  let handler: Promisable.Handler

  /// The one that the step has had all the time.
  let then: Then

  /// Called instead of the handler when the step is over before.
  let drop: @Sendable () -> Void

  init(
    _ handler: @escaping Promisable.Handler, _ then: Then,
    orElse drop: @escaping @Sendable () -> Void
  ) {
    self.handler = handler
    self.then = then
    self.drop = drop
  }
}

extension SerialOrder {
  /// Has the running step `id` go on with another handler.
  ///
  /// - Returns: Whether the caller holds the claim now: nobody is on the way who would look.
  mutating func goOn(
    id: Int, _ resumption: Resumption, _ consequences: inout Consequences?
  ) -> ThenResult {
    // Under the lock, so that no work begins beside the next step, after its own has ended.
    guard isUndecided(id) else {
      drop([resumption], &consequences)
      return .late
    }
    queue.record(of: id, in: queue.firstSegment).resumptions.append(resumption)
    guard phase == .away else { return .counted }
    phase = .resuming
    return .claimed(owner)
  }

  /// Whether the running step has another handler to run.
  var isResumable: Bool { queue.firstSlot.pointee.record?.resumptions.isEmpty == false }

  /// The first look of a turn: what the running step goes on with or, if none runs, the next one.
  mutating func begin(_ consequences: inout Consequences?) -> Turn {
    switch phase {
    case .resuming:
      return resume()
    case .heldResuming:
      phase = .held
      return Turn(move: .leave)
    default:
      return next(&consequences)
    }
  }

  /// Runs the next handler of the running step, of which none is on the stack.
  @inline(never)
  mutating func resume() -> Turn {
    // Or a step that goes on with itself for ever would hold the thread.
    guard allowance != 0 else {
      phase = .resuming
      return Turn(move: .handOver)
    }
    guard let record = queue.firstSlot.pointee.record else {
      preconditionFailure("a step that goes on has a record")
    }
    allowance -= allowance.signum()
    phase = .handling
    return Turn(move: .resume, id: queue.first, spent: record.resumptions.removeFirst())
  }

  /// Lets go of handlers that will not run, after the lock: what they hold is somebody's.
  func drop(_ resumptions: [Resumption], _ consequences: inout Consequences?) {
    consequences.needed.release(resumptions)
    for resumption in resumptions { consequences.needed.call(resumption.drop) }
  }
}
