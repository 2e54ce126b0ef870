/// Decides which step runs: the serial order as a pure state machine.
///
/// It starts no thread, calls no handler and takes no lock; the manager locks, asks, unlocks and
/// then does what the answer says. Everything that could run somebody else's code (a handler, a
/// callback, the release of either) leaves in the answer.
struct SerialOrder {
  /// Where the first step of the queue is on its way.
  enum Phase {
    /// Nothing runs and nobody is about to look. → claimed
    case resting
    /// A thread has promised to call `next`. → handling, throttled, resting
    case claimed
    /// Steps wait, but none may begin yet; a timer is set that will claim. → claimed, resting
    case throttled
    /// The handler of the first step is on the stack of `turnThread`. → ended, away, held, claimed
    case handling
    /// `then` was called, and the handler is still on the stack. → held, claimed
    ///
    /// The next step has to wait for the rest of the handler too, or the two would overlap.
    case ended
    /// The handler returned, and `then` is awaited. → resuming, held, claimed
    case away
    /// The handler returned, another one of the same step is to run, and somebody has promised to
    /// call `begin`. → handling, heldResuming, claimed
    case resuming
    /// The handler returned and `then` was called, but the time of the step is over and its cancel
    /// handlers have not returned: `calledOff` ends it. → claimed
    case held
    /// As `held`, and the promise to call `begin` is still to be kept. → held, claimed
    case heldResuming
  }

  /// What the thread that holds the claim does next.
  struct Turn {
    enum Move {
      /// Runs the handler, and reports `handlerReturned`.
      case run
      /// Likewise, with a further handler of the step that runs.
      case resume
      /// Asks `next` again, after releasing `spent`.
      case again
      /// Asks `next(at:)`, with the time.
      case readTime
      /// Has done its share: has `next` asked elsewhere.
      case handOver
      /// Nothing: the claim is gone.
      case leave
    }

    var move = Move.leave
    var work: Work?
    var id = 0

    /// What is to be released after the lock, or the `Resumption` of `resume`.
    ///
    /// It may be the last reference to a manager, or to the error of a step. One for both, because
    /// each further field costs every step.
    var spent: AnyObject?
  }

  enum ThenResult {
    /// Somebody else holds the claim, or will when the handler has returned.
    case counted
    /// The step is over; whoever called `then` holds the claim now, on behalf of the manager.
    case claimed(PromiseManager?)
    /// The step was over already.
    case late
  }

  var phase = Phase.resting
  var queue = StepQueue()

  /// A token that was called, for the next turn: so a turn of one step allocates none.
  var spareToken: Token?

  /// Keeps the manager alive as long as the queue is not at rest.
  var owner: PromiseManager?

  /// How many steps wait, without those that were cancelled.
  var waitingCount = 0

  var isPaused = false
  var isClosed = false
  let policy: FailurePolicy
  let diagnostics: DiagnosticHandler?

  /// Why the policy paused the queue.
  var failure: (any Error)?

  // What belongs to the step that runs.
  var isCancelRequested = false
  var cancelHandlers: [@Sendable () -> Void] = []
  var stepProgress = Progress()
  private var thenError: (any Error)?

  /// What the running step fails with, however it ends: its time was over.
  var timeOutError: (any Error)?

  /// Whether the time of the running step is over and its cancel handlers have not returned.
  ///
  /// It does not end before: an observer of its outcome may rely on the work having been canceled.
  private var isCallingOff = false

  /// Whether the running step is to end when its handler returns, unless `then` was called before.
  var isGraceOver = false

  private var turnThread: ThreadIdentity?

  /// How many handlers the claim's holder may still run before it hands over; 0 when its time is over.
  ///
  /// Negative with a rate: so many, each when the time has been read. So a rate costs other orders no
  /// look of their own.
  var allowance = 0

  /// The step that the claim's holder may run besides, if it is the next one.
  private var onlyStep = noStep

  /// The first number that was given out since the queue was last idle.
  var idleMark = 1

  /// Told how far the running step has come.
  var onProgress: (@Sendable (Double) -> Void)?

  /// Whether handlers run on the main queue.
  var usesMainQueue = false

  /// The manager in whose step this one runs, if it does: what begins here begins in that one's turn.
  var hostTurn: Locked<SerialOrder>?

  var backpressure: Backpressure
  var waiters = Waiters()

  /// What decides when a step may begin; nil without a rate.
  let throttle: Throttle?
  var feed: EventFeed?

  init(
    policy: FailurePolicy = .continue, capacity: Int? = nil, rate: Rate? = nil,
    diagnostics: DiagnosticHandler? = nil
  ) {
    self.policy = policy
    self.diagnostics = diagnostics
    backpressure = Backpressure(capacity: capacity)
    throttle = rate.map(Throttle.init)
  }

  /// Whether a step has begun and is not over.
  var isRunning: Bool { phase != .resting && phase != .claimed && phase != .throttled }

  /// Whether the running step's handler is on the stack of this thread.
  func isHandling(on thread: ThreadIdentity) -> Bool {
    (phase == .handling || phase == .ended) && turnThread == thread
  }

  /// Whether nothing runs and nothing waits.
  var isIdle: Bool { !isRunning && waitingCount == 0 }

  var runningStep: StepIdentity? { isRunning ? firstStep : nil }

  /// The name of a step whose segment is still in the queue.
  func name(of id: Int) -> String? {
    guard let head = queue.head, head.contains(id) else { return nil }
    return head.identity(of: id).name
  }

  func isRunning(_ id: Int) -> Bool { isRunning && id == queue.first }

  private var firstStep: StepIdentity { queue.firstSegment.identity(of: queue.first) }

  // MARK: Entering

  enum Admission {
    /// The step is `id`, its handles hold the record; with `claims`, the caller has to call `next`.
    case entered(StepRecord, id: Int, claims: Bool)
    case refused(PromiseError)
  }

  @inline(__always)
  mutating func add(
    _ work: inout Work?, _ record: StepRecord?, lock: Locked<SerialOrder>,
    owner: PromiseManager?
  ) -> Admission {
    if isClosed { return .refused(.closed) }
    if let capacity = backpressure.capacity, waitingCount >= capacity {
      return .refused(.full(capacity: capacity))
    }
    return enter(&work, record, lock: lock, owner: owner)
  }

  @inline(__always)
  mutating func enter(
    _ work: inout Work?, _ record: StepRecord?, lock: Locked<SerialOrder>,
    owner: PromiseManager?
  ) -> Admission {
    if isIdle { idleMark = queue.end }
    let id = queue.end
    let record = queue.append(&work, record, lock: lock)
    waitingCount += 1
    if let feed, feed.isWatched { feed.append(.added(StepIdentity(id: id, name: record.name))) }
    return .entered(record, id: id, claims: claim(for: owner))
  }

  /// Gives the claim to the caller if nobody has it and a step could run.
  mutating func claim(for owner: PromiseManager?) -> Bool {
    guard phase == .resting, !isPaused, waitingCount > 0 else { return false }
    phase = .claimed
    self.owner = owner
    return true
  }

  // MARK: Running

  /// Sets how many handlers the claim's holder may run.
  mutating func beginTurn(allowance: Int) {
    turnThread = ThreadIdentity()
    self.allowance = throttle == nil ? allowance : -allowance
    onlyStep = SerialOrder.noStep
  }

  /// A number that no step has.
  static let noStep = 0

  /// Has the claim's holder run this step, and no other, if it is the next one.
  mutating func beginTurn(only id: Int) {
    beginTurn(allowance: 0)
    onlyStep = id
  }

  mutating func next(_ consequences: inout Consequences?) -> Turn {
    guard waitingCount > 0, !isPaused else {
      phase = .resting
      if !waiters.isEmpty { wake(.atRest, &consequences) }
      if isIdle { becomeIdle(&consequences) }
      return Turn(move: .leave, spent: owner.take())
    }
    if let spent = queue.skipGone() { return Turn(move: .again, spent: spent) }
    if allowance <= 0 {
      if allowance == 0 {
        // It may have been canceled or moved since the claim was taken, or another one put before it:
        // what is next then was added by others.
        guard queue.first == onlyStep else { return Turn(move: .handOver) }
        onlyStep = SerialOrder.noStep
        allowance = throttle == nil ? 1 : -1
      }
      if allowance < 0 { return Turn(move: .readTime) }
    }
    allowance -= 1
    phase = .handling
    waitingCount -= 1
    let slot = queue.firstSlot
    slot.pointee.stage = .running
    let work = slot.pointee.work.take()
    if backpressure.parked > 0 { leftQueue(slot.pointee.record, &consequences) }
    fewerWait(&consequences)
    if let feed, feed.isWatched { feed.began(firstStep) }
    return Turn(move: .run, work: work, id: queue.first)
  }

  /// `then` was called for step `id`.
  mutating func then(
    id: Int, error: (any Error)?, _ consequences: inout Consequences?
  ) -> ThenResult {
    guard id == queue.first else { return .late }
    switch phase {
    case .handling:
      thenError = error
      phase = .ended
      return .counted
    case .away:
      if isCallingOff { return hold(error, .held) }
      end(error, &consequences)
      return .claimed(owner)
    case .resuming:
      if isCallingOff { return hold(error, .heldResuming) }
      end(error, &consequences)
      // Whoever was to run the other handler has the claim.
      return .counted
    case .resting, .claimed, .throttled, .ended, .held, .heldResuming:
      return .late
    }
  }

  /// The running step ends when its cancel handlers have returned.
  private mutating func hold(_ error: (any Error)?, _ phase: Phase) -> ThenResult {
    thenError = error
    self.phase = phase
    return .counted
  }

  /// Whether step `id` runs and how it ends is still open.
  func isUndecided(_ id: Int) -> Bool {
    switch phase {
    case .handling, .away, .resuming: id == queue.first
    case .resting, .claimed, .throttled, .ended, .held, .heldResuming: false
    }
  }

  /// The last reference to the `then` of step `id` went away, and nobody had called it.
  mutating func abandon(id: Int, _ consequences: inout Consequences?) -> ThenResult {
    // While the handler is on the stack, the drain holds a reference: only `away` is left.
    guard phase == .away, id == queue.first else { return .late }
    return then(id: id, error: PromiseError.abandoned(firstStep), &consequences)
  }

  /// The grace period of step `id`, which was cancelled, is over: ends it without its `then`.
  mutating func endCancelled(id: Int, _ consequences: inout Consequences?) -> ThenResult {
    guard isUndecided(id), isCancelRequested else { return .late }
    if phase == .handling {
      // A `then` that was called on the handler's stack has not taken the lock: whether it came is
      // known when the handler returns, and until then nothing could end anyway.
      isGraceOver = true
      return .counted
    }
    return then(id: id, error: CancellationError(), &consequences)
  }

  /// The time of step `id` is over: it is canceled, and fails.
  ///
  /// Only for a step whose `then` is called under the lock: what came first is decided here. With
  /// `waitsForThen`, it fails only when its `then` is called.
  ///
  /// - Returns: Nil if there are cancel handlers to call: when they have returned, `calledOff` follows.
  mutating func timeOut(
    id: Int, error: any Error, waitsForThen: Bool, _ consequences: inout Consequences?
  ) -> ThenResult? {
    guard isUndecided(id) else { return .late }
    let callsOff = !isCancelRequested && !cancelHandlers.isEmpty
    requestCancel(&consequences)
    guard callsOff || waitsForThen else { return then(id: id, error: error, &consequences) }
    // That of another limit may be an object of the user's.
    if let old = timeOutError { consequences.needed.release(old) }
    timeOutError = error
    guard callsOff else { return .counted }
    isCallingOff = true
    return nil
  }

  /// The cancel handlers of step `id`, whose time is over, have returned.
  mutating func calledOff(
    id: Int, error: any Error, waitsForThen: Bool, _ consequences: inout Consequences?
  ) -> ThenResult {
    guard isRunning(id), isCallingOff else { return .late }
    isCallingOff = false
    switch phase {
    case .held:
      end(thenError.take(), &consequences)
      return .claimed(owner)
    case .heldResuming:
      end(thenError.take(), &consequences)
      return .counted
    case .ended:
      // It ends when its handler returns.
      return .counted
    default:
      return waitsForThen ? .counted : then(id: id, error: error, &consequences)
    }
  }

  /// What is known of `then` when its handler returns.
  enum Continuation {
    case called
    /// Nobody holds it any more.
    case dropped
    case awaited
  }

  /// The handler of the running step has returned.
  mutating func handlerReturned(
    _ continuation: Continuation, _ consequences: inout Consequences?
  ) -> Turn {
    // Most steps call `then` on the stack of their handler.
    if phase == .handling, continuation == .called, !isCallingOff {
      end(nil, &consequences)
    } else if let turn = handlerReturnedOtherwise(continuation, &consequences) {
      return turn
    }
    return next(&consequences)
  }

  /// - Returns: What to do, or nil if the step is over.
  @inline(never)
  private mutating func handlerReturnedOtherwise(
    _ continuation: Continuation, _ consequences: inout Consequences?
  ) -> Turn? {
    var error: (any Error)?
    // Timed out, or called on another thread between the look at `then` and here.
    if phase == .ended || continuation == .called {
      error = thenError.take()
    } else if isGraceOver {
      error = CancellationError()
    } else if continuation == .dropped {
      error = PromiseError.abandoned(firstStep)
    } else if isResumable {
      return resume()
    } else {
      phase = .away
      return Turn(move: .leave)
    }
    if isCallingOff {
      _ = hold(error, .held)
      return Turn(move: .leave)
    }
    end(error, &consequences)
    return nil
  }
}
