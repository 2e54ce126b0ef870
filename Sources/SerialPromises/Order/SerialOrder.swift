/// A pure state machine that decides which step runs.
///
/// It starts no threads, calls no handlers and takes no locks. The manager locks it, makes a
/// transition, unlocks it and performs the returned effects. Everything that could run user code (a
/// handler, a callback, the release of either) is returned as an effect.
struct SerialOrder {
  /// The phase of the step at the head of the queue.
  enum Phase: Hashable {
    /// No step runs, and no thread holds the claim. → claimed
    case resting
    /// A thread holds the claim: it is going to call `next`. → handling, onItsWay, throttled, resting
    case claimed
    /// Steps wait, and the claim is sent to where the first one has to run, which may be busy.
    /// → claimed, resting
    ///
    /// The thread that arrives has the claim only if the trip is still the current one: the claim is taken
    /// back when the first step no longer has to run there. Otherwise a step that was canceled or overtaken
    /// would hold up the others.
    case onItsWay(Trip)
    /// Steps wait, but the rate does not allow one to start; a timer will claim. → claimed, resting
    case throttled
    /// The handler is on the stack of `turnThread`. → ended, awaitingThen, held, claimed
    case handling
    /// `then` was called while the handler was on the stack. → held, claimed
    ///
    /// The next step starts only after the handler returns, so that the two do not overlap.
    case ended
    /// The handler returned without a call of `then`. → held, claimed
    case awaitingThen
    /// The handler returned and `then` was called, but the cancel handlers of the timed-out step
    /// are still running: `timedOut` ends it. → claimed
    case held
  }

  /// A trip of the claim.
  struct Trip: Hashable {
    /// The actor where it ends, which the closure that is sent there retains; nil for the queue of handlers.
    let actor: ObjectIdentifier?
    let ticket: Int
  }

  /// The next action of the thread that holds the claim.
  struct Turn {
    enum Move: Equatable {
      /// Runs the handler, and then calls `handlerReturned`.
      case run
      /// Resumes `waiter`, if there is one yet. The claim has been released: the step is code in a task.
      case grant
      /// Calls `next` again after releasing `object`.
      case again
      /// Calls `next(at:)` with the current time.
      case readTime
      /// Stops because its allowance is used up: the claim is on its way to the queue of handlers, where a
      /// thread calls `arrive`.
      case handOver(ticket: Int)
      /// Stops because the next step belongs to the actor of the record `object`: the claim is on its way
      /// there.
      case goToActor(ticket: Int)
      /// Stops. The claim has been released.
      case leave
    }

    var move = Move.leave
    var work: Work?
    var waiter: UnsafeContinuation<Bool, Never>?
    var id = 0

    /// An object to release after the lock is released.
    ///
    /// May be the last reference to a manager or to the error of a step.
    var object: AnyObject?

    /// The actor to go to.
    var isolation: (any Actor)? { (object as? StepRecord)?.isolation }
  }

  enum ThenResult {
    /// Another thread holds the claim, or will hold it when the handler returns.
    case counted
    /// The step has ended, and the caller of `then` holds the claim on behalf of the manager.
    case claimed((any StepRunner)?)
    /// The step had already ended.
    case late
  }

  private(set) var phase = Phase.resting
  private(set) var queue = StepQueue()

  /// A used token, reused by the next turn: a turn of a single step then allocates none.
  private var spareToken: Token?

  /// Retains the manager until the queue is at rest; a key's manager, as long as it is kept.
  private var owner: (any StepRunner)?

  /// Objects that are released with a key's manager; empty for other managers.
  private var companions: [AnyObject] = []

  /// Whether the manager of a key was closed for itself.
  private var staysClosed = false

  /// Whether the manager of a key is retained without a running step: what it knows would be lost.
  private var isKept: Bool {
    !companions.isEmpty && (waitingCount > 0 || isPaused || staysClosed)
  }

  /// The number of waiting steps, without the canceled ones.
  private(set) var waitingCount = 0

  /// The number of canceled steps whose work is being canceled.
  ///
  /// They no longer wait, but the queue is not idle: code that waits for that may rely on the
  /// cancellation of the work.
  private var leavingCount = 0

  /// Whether the events end when no step leaves.
  private var endsEvents = false

  private(set) var isPaused = false
  private(set) var isClosed = false
  let policy: FailurePolicy
  let diagnostics: DiagnosticHandler?

  /// The error for which the policy paused the queue.
  private(set) var failure: (any Error)?

  // The state of the running step.
  private(set) var isCancelRequested = false
  private var cancelHandlers: [@Sendable () -> Void] = []
  private(set) var stepProgress = Progress()
  private var thenError: (any Error)?

  /// The error of the running step while its cancel handlers run after a timeout.
  ///
  /// The step gets its outcome only after they return: an observer may rely on the work being
  /// canceled. Meanwhile a call of `then` does not end it.
  private var timeOutError: (any Error)?

  /// Whether the running step has its outcome, because it has timed out.
  ///
  /// Its slot still counts as running.
  private var hasOutcome = false

  /// Whether the timed-out running step ends without its `then`.
  private var isAbandoned = false

  /// Whether the grace period has passed: the step ends when its handler returns, unless `then` was
  /// called.
  private(set) var isGraceOver = false

  /// The timers of the running step, released with the step.
  private var timers: [AnyObject] = []

  /// Whether the running step ends with its own code only: no cancellation or time limit ends it.
  private var endsItself = false

  /// Whether the running step was canceled, or has cancel handlers or timers.
  private var needsCleanup = false

  /// The number of trips of the claim.
  private var trips = 0

  private var turnThread: ThreadIdentity?

  /// The number of handlers that the claim's holder may still run before handing over; 0 when its
  /// time has passed.
  ///
  /// Negative with a rate: its magnitude is the number, and each handler requires the current time.
  /// Orders without a rate need no check of their own.
  private var allowance = 0

  /// A step that the claim's holder may run in addition, if it is next.
  private var onlyStep = noStep

  /// The step on whose actor the claim's holder is.
  private var stepOfActor = noStep

  /// The first step number since the queue was last idle.
  private var idleMark = 1

  /// Whether handlers without an actor run on the main queue.
  let usesMainQueue: Bool

  private(set) var backpressure: Backpressure
  private(set) var waiters = Waiters()

  /// The rate limiter; nil without a rate.
  private let throttle: Throttle?
  private(set) var feed: EventFeed?

  init(
    policy: FailurePolicy = .continue, capacity: Int? = nil, rate: Rate? = nil,
    diagnostics: DiagnosticHandler? = nil, usesMainQueue: Bool = false
  ) {
    self.policy = policy
    self.diagnostics = diagnostics
    self.usesMainQueue = usesMainQueue
    backpressure = Backpressure(capacity: capacity)
    throttle = rate.map(Throttle.init)
  }

  /// Whether a step has started and not ended.
  var isRunning: Bool {
    switch phase {
    case .handling, .ended, .awaitingThen, .held: true
    case .resting, .claimed, .onItsWay, .throttled: false
    }
  }

  /// Whether the running step's handler is on the stack of `thread`.
  func isHandling(on thread: ThreadIdentity) -> Bool {
    (phase == .handling || phase == .ended) && turnThread == thread
  }

  /// The records of the steps whose work is still to run or to end, as far as they have one.
  ///
  /// Takes time proportional to the number of waiting steps.
  var recordsOfWork: [StepRecord] {
    // The handler of a running closure has returned, or is on this thread.
    queue.records.filter { $1.isWork || !isRunning($0) }.map(\.record)
  }

  /// Whether no step runs or waits.
  var isIdle: Bool { !isRunning && waitingCount == 0 && leavingCount == 0 }

  var runningStep: StepIdentity? { isRunning ? firstStep : nil }

  /// The name of a step whose segment is still in the queue.
  func name(of id: Int) -> String? {
    guard let head = queue.head, head.contains(id) else { return nil }
    return head.identity(of: id).name
  }

  func isRunning(_ id: Int) -> Bool { isRunning && id == queue.first }

  private var firstStep: StepIdentity { queue.firstSegment.identity(of: queue.first) }

  // MARK: Adding

  enum Admission {
    /// The step was added. Its handles hold the record. If `claims` is true, the caller must call
    /// `next`.
    case entered(StepRecord, id: Int, claims: Bool)
    case refused(PromiseError)
  }

  @inline(__always)
  mutating func add(
    _ work: inout Work?, _ record: StepRecord?, at place: StepPlace = .last,
    lock: Locked<SerialOrder>, owner: (any StepRunner)?, _ consequences: inout Consequences?
  ) -> Admission {
    if isClosed { return .refused(.closed) }
    if !hasRoom, let capacity = backpressure.capacity { return .refused(.full(capacity: capacity)) }
    let admission = enter(&work, record, lock: lock, owner: owner, &consequences)
    if case .last = place { return admission }
    guard case .entered(let record, let id, let claims) = admission else { return admission }
    // Under the same lock: no other thread has seen the step elsewhere.
    move(id, record, to: place)
    return .entered(record, id: id, claims: claims || takeBack(&consequences))
  }

  @inline(__always)
  mutating func enter(
    _ work: inout Work?, _ record: StepRecord?, lock: Locked<SerialOrder>,
    owner: (any StepRunner)?, _ consequences: inout Consequences?
  ) -> Admission {
    if isIdle { idleMark = queue.end }
    let id = queue.end
    let record = queue.append(&work, record, lock: lock)
    waitingCount += 1
    feed?.append(.added(StepIdentity(id: id, name: record.name)), &consequences)
    return .entered(record, id: id, claims: claim(for: owner))
  }

  /// Gives the claim to the caller if it is free and a step could run.
  mutating func claim(for owner: (any StepRunner)?) -> Bool {
    guard phase == .resting, waitingCount > 0 else { return false }
    if !isPaused || isKept { self.owner = owner }
    guard !isPaused else { return false }
    phase = .claimed
    return true
  }

  /// The manager, to be released after the lock is released, because the queue is at rest.
  private mutating func restingOwner() -> (any StepRunner)? {
    isKept ? nil : owner.take()
  }

  /// Retains an object as long as the manager, which is a key's manager from now on.
  mutating func retain(_ companion: AnyObject) { companions.append(companion) }

  /// Undoes `retain`.
  mutating func release(_ companion: ObjectIdentifier, _ consequences: inout Consequences?) {
    consequences.needed.release(companions)
    companions.removeAll { ObjectIdentifier($0) == companion }
    if phase == .resting, let owner = restingOwner() { consequences.needed.release(owner) }
  }

  /// Rejects further steps.
  ///
  /// - Parameter owner: The manager, to keep a key's manager closed.
  mutating func close(for owner: (any StepRunner)?) {
    isClosed = true
    if let owner, !companions.isEmpty { (self.owner, staysClosed) = (owner, true) }
  }

  // MARK: Running

  /// The handlers that the claim's holder may run.
  enum Reach {
    /// This number of handlers, of steps that belong to no actor.
    case allowance(Int)
    /// The handler of this step, if it is next, and belongs to no actor.
    case only(Int)
    /// The handler of this step, if it is next: the holder is on its actor.
    case onActor(of: Int)
    /// All of steps that belong to no actor: the holder is inside a call of `then`. Others begin outside it,
    /// because its caller, on the same actor, may then change what they have set: `then?(); then = nil`.
    case insideThen

    static let all = Reach.allowance(.max)
    static let none = Reach.only(noStep)
  }

  /// Sets which handlers the claim's holder may run.
  mutating func beginTurn(_ reach: Reach, on thread: ThreadIdentity) {
    turnThread = thread
    (allowance, onlyStep, stepOfActor) = (0, SerialOrder.noStep, SerialOrder.noStep)
    switch reach {
    case .allowance(let count): allowance = count
    case .insideThen: allowance = .max
    case .only(let id): onlyStep = id
    case .onActor(let id): (onlyStep, stepOfActor) = (id, id)
    }
    if throttle != nil { allowance.negate() }
  }

  /// Allows again what a turn of one step allowed: the step may have been canceled since.
  mutating func repeatTurn(_ reach: Reach, on thread: ThreadIdentity) {
    switch reach {
    case .allowance, .insideThen: break
    case .only, .onActor: beginTurn(reach, on: thread)
    }
  }

  /// A number that no step has.
  static let noStep = 0

  /// Makes the claim's holder hand over before the next handler.
  mutating func endTurn() { allowance = 0 }

  /// Takes the token of an earlier turn for reuse, unless there are other references to it.
  mutating func takeToken() -> Token? {
    // Otherwise the last use of another reference could see the next step.
    isOnlyReference(&spareToken) ? spareToken.take() : nil
  }

  /// Stores a token whose step has ended, for reuse.
  ///
  /// The caller releases the previous one without the lock, which its `deinit` may take.
  mutating func keepToken(_ token: inout Token?) { swap(&spareToken, &token) }

  mutating func next(_ consequences: inout Consequences?) -> Turn {
    guard waitingCount > 0, !isPaused else {
      phase = .resting
      if !waiters.isEmpty { wake(.atRest, &consequences) }
      if isIdle { becomeIdle(&consequences) }
      return Turn(move: .leave, object: restingOwner())
    }
    if let released = queue.skipVacant() { return Turn(move: .again, object: released) }
    if let record = queue.firstSlot.pointee.record, let isolation = record.isolation,
      queue.first != stepOfActor, queue.firstSlot.pointee.work != nil
    {
      let ticket = depart(to: ObjectIdentifier(isolation))
      return Turn(move: .goToActor(ticket: ticket), id: queue.first, object: record)
    }
    if allowance <= 0 {
      if allowance == 0 {
        // The step may have been canceled or moved since the claim was taken, or another one
        // inserted before it. A task is resumed by any thread.
        guard queue.first == onlyStep || queue.firstSlot.pointee.work == nil else {
          return Turn(move: .handOver(ticket: depart(to: nil)))
        }
        onlyStep = SerialOrder.noStep
        allowance = throttle == nil ? 1 : -1
      }
      if allowance < 0 { return Turn(move: .readTime) }
    }
    allowance -= 1
    phase = .handling
    endsItself = false
    waitingCount -= 1
    let slot = queue.firstSlot
    slot.pointee.stage = .running
    let work = slot.pointee.work.take()
    if backpressure.parked > 0 { leftQueue(queue.first, &consequences) }
    waitingCountDecreased(&consequences)
    feed?.began(firstStep, &consequences)
    if work == nil { return grant(slot.pointee.record) }
    return Turn(move: .run, work: work, id: queue.first)
  }

  /// Begins a step that is code in a task.
  private mutating func grant(_ record: StepRecord?) -> Turn {
    phase = .awaitingThen
    endsItself = record?.endsItself != false
    return Turn(move: .grant, waiter: record?.takeWaiter(), id: queue.first)
  }

  /// Adds and begins a step that is code in a task, if the queue is idle and nothing observes it.
  ///
  /// The step has no record, and the task retains the manager.
  ///
  /// - Returns: Its number, or nil.
  mutating func grantAtOnce(
    _ lock: Locked<SerialOrder>, _ consequences: inout Consequences?
  ) -> Int? {
    guard phase == .resting, waitingCount == 0, leavingCount == 0, !isPaused, !isClosed,
      throttle == nil, feed == nil
    else { return nil }
    let id = queue.end
    idleMark = id
    if !queue.appendRunning() {
      var work: Work?
      _ = queue.append(&work, nil, lock: lock)
      while let released = queue.skipVacant() { consequences.needed.release(released) }
      queue.firstSlot.pointee.stage = .running
    }
    (phase, endsItself) = (.awaitingThen, true)
    return id
  }

  /// Makes the steps after such a step retain the manager.
  mutating func own(_ manager: any StepRunner) { owner = manager }

  /// Ends such a step, if it succeeded and nothing follows.
  mutating func endGranted(_ id: Int) -> Bool {
    guard waitingCount == 0, waiters.isEmpty, feed == nil, owner == nil, !needsCleanup,
      queue.first == id, queue.firstSlot.pointee.record == nil
    else { return false }
    queue.firstSlot.pointee.stage = .over
    queue.popFirst()
    phase = .resting
    return true
  }

  /// Begins a turn of a thread that runs a task: it runs no handler.
  mutating func nextInTask(_ consequences: inout Consequences?) -> Turn {
    beginTurn(.none, on: ThreadIdentity())
    // What was caused before comes first.
    return consequences == nil ? next(&consequences) : Turn(move: .again)
  }

  /// Records a call of the `then` of step `id`.
  mutating func then(
    id: Int, error: (any Error)?, _ consequences: inout Consequences?
  ) -> ThenResult {
    guard id == queue.first else { return .late }
    var error = error
    // Whatever the error: work that is stopped often ends with one of its own. Not if it ended before the
    // cancellation.
    if isCancelRequested, let own = error, awaitsThen(id) {
      consequences.needed.release(own)
      error = CancellationError()
    }
    switch phase {
    case .handling:
      thenError = error
      phase = .ended
      return .counted
    case .awaitingThen:
      guard timeOutError == nil else {
        thenError = error
        phase = .held
        return .counted
      }
      end(error, &consequences)
      return .claimed(owner)
    case .resting, .claimed, .onItsWay, .throttled, .ended, .held:
      return .late
    }
  }

  /// Whether step `id` runs and its `then` has not been called.
  func awaitsThen(_ id: Int) -> Bool {
    (phase == .handling || phase == .awaitingThen) && id == queue.first
  }

  /// Fails step `id`, because the last reference to its `then` was released without a call.
  mutating func abandon(id: Int, _ consequences: inout Consequences?) -> ThenResult {
    // The drain holds a reference while the handler is on the stack, so only `awaitingThen`
    // remains.
    guard phase == .awaitingThen, id == queue.first else { return .late }
    return then(id: id, error: PromiseError.abandoned(firstStep), &consequences)
  }

  /// Ends the canceled step `id` after its grace period.
  mutating func endCancelled(id: Int, _ consequences: inout Consequences?) -> ThenResult {
    guard awaitsThen(id), isCancelRequested else { return .late }
    if phase == .handling {
      // A `then` that was called on the handler's stack has not taken the lock. It is found when
      // the handler returns, and the step cannot end earlier.
      isGraceOver = true
      return .counted
    }
    return then(id: id, error: CancellationError(), &consequences)
  }

  /// Cancels step `id` because its time limit has passed.
  ///
  /// Requires a step whose `then` is called under the lock, which decides what came first.
  ///
  /// - Returns: Nil if `timedOut` follows, when the cancel handlers have returned.
  mutating func timeOut(
    id: Int, error: any Error, abandoning: Bool, _ consequences: inout Consequences?
  ) -> ThenResult? {
    guard awaitsThen(id) else { return .late }
    let abandoning = abandoning && !endsItself
    if abandoning { isAbandoned = true }
    // The first limit decides the outcome; a later one may abandon the step.
    if timeOutError != nil { return .counted }
    if hasOutcome {
      return abandoning ? then(id: id, error: nil, &consequences) : .counted
    }
    timeOutError = error
    if endsItself {
      needsCleanup = true
      return timedOut(id: id, &consequences)
    }
    requestCancel(&consequences)
    return nil
  }

  /// Fails the timed-out step `id` after its cancel handlers have returned.
  ///
  /// Its turn ends only with its `then`, unless it is abandoned.
  mutating func timedOut(id: Int, _ consequences: inout Consequences?) -> ThenResult {
    guard isRunning(id), let error = timeOutError.take() else { return .late }
    hasOutcome = true
    settle(error, isTimedOut: true, &consequences)
    switch phase {
    case .held:
      end(thenError.take(), &consequences)
      return .claimed(owner)
    case .ended:
      // The turn ends when the handler returns.
      return .counted
    default:
      if isAbandoned { return then(id: id, error: nil, &consequences) }
      consequences.needed.call { [diagnostics, firstStep] in
        (diagnostics ?? .shared).report(.timedOut(firstStep))
      }
      return .counted
    }
  }

  /// The state of `then` when its handler returns.
  enum Continuation {
    case called
    /// The last reference was released.
    case dropped
    case awaited
  }

  /// Ends the handler of the running step.
  mutating func handlerReturned(
    _ continuation: Continuation, _ consequences: inout Consequences?
  ) -> Turn {
    // The common case: `then` is called on the stack of its handler.
    if phase == .handling, continuation == .called, timeOutError == nil {
      end(nil, &consequences)
    } else if let turn = handlerReturnedOtherwise(continuation, &consequences) {
      return turn
    }
    return next(&consequences)
  }

  /// - Returns: The next action, or nil if the step has ended.
  @inline(never)
  private mutating func handlerReturnedOtherwise(
    _ continuation: Continuation, _ consequences: inout Consequences?
  ) -> Turn? {
    var error: (any Error)?
    // Timed out, or called on another thread after `then` was checked.
    if phase == .ended || continuation == .called {
      error = thenError.take()
    } else if isGraceOver || continuation == .dropped && isCancelRequested {
      error = CancellationError()
    } else if continuation == .dropped {
      error = PromiseError.abandoned(firstStep)
    } else {
      phase = .awaitingThen
      return Turn(move: .leave)
    }
    guard timeOutError == nil else {
      thenError = error
      phase = .held
      return Turn(move: .leave)
    }
    end(error, &consequences)
    return nil
  }
}

// MARK: Ending

extension SerialOrder {
  /// Ends the running step.
  @inline(__always)
  mutating func end(_ error: (any Error)?, _ consequences: inout Consequences?) {
    phase = .claimed
    stepProgress = Progress()
    // Seldom: the common case is success without observers.
    if error != nil || queue.firstSlot.pointee.record != nil || needsCleanup || feed != nil {
      endWatched(error, &consequences)
    }
    queue.firstSlot.pointee.stage = .over
    queue.popFirst()
  }

  private mutating func endWatched(
    _ error: (any Error)?, _ consequences: inout Consequences?
  ) {
    if !hasOutcome {
      settle(error, isTimedOut: false, &consequences)
    } else if let error {
      // The release of this error may run user code.
      consequences.needed.release(error)
    }
    if needsCleanup {
      // Their release may run user code.
      consequences.needed.release((cancelHandlers, timers))
      (cancelHandlers, timers) = ([], [])
      (needsCleanup, isCancelRequested, isGraceOver) = (false, false, false)
      (hasOutcome, isAbandoned) = (false, false)
    }
  }

  /// Gives the running step its outcome.
  private mutating func settle(
    _ error: (any Error)?, isTimedOut: Bool, _ consequences: inout Consequences?
  ) {
    let id = queue.first
    let segment = queue.firstSegment
    let isCancelled = isCancelRequested && !isTimedOut
    let outcome: StepOutcome
    var isReceived = true
    if let error {
      let isCancellation = error is CancellationError
      outcome = isCancelled && isCancellation ? .cancelled : .failed(error)
      // A cancellation error may hold a user's object.
      if case .cancelled = outcome { consequences.needed.release(error) }
      // A cancellation is not reported; a promise's is not either.
      isReceived =
        isCancelled || isCancellation || endsItself || policy == .stop || feed != nil
    } else {
      outcome = .succeeded
    }
    feed?.ended(segment.identity(of: id), outcome, &consequences)
    close(id, in: segment, outcome, endsWork: true, isReceived: isReceived, &consequences)
    guard case .failed(let error) = outcome else { return }
    switch policy {
    case .continue: break
    case .stop:
      isPaused = true
      if let failure { consequences.needed.release(failure) }
      failure = error
    case .cancelRest:
      cancelWaiting(&consequences)
    }
  }

  /// Registers a callback for the end of step `id`.
  ///
  /// - Returns: The outcome if the step has ended; nothing is registered then.
  mutating func observe(
    _ id: Int, _ record: StepRecord, _ observer: @escaping @Sendable (StepOutcome) -> Void
  ) -> StepOutcome? {
    if case .over(let outcome) = record.state(of: id) { return outcome }
    guard let segment = record.segment else { return nil }
    // Uses the record of the slot, because `record` may not be assigned to it yet.
    self.record(of: id, in: segment).observers.append(observer)
    return nil
  }

  /// Retains a timer until step `id` ends, if it is running.
  mutating func keep(_ timer: Timer, untilEndOf id: Int) {
    guard isRunning(id) else { return }
    timers.append(timer)
    needsCleanup = true
  }

  /// The record of a step that has not ended.
  mutating func record(of id: Int, in segment: Segment) -> StepRecord {
    queue.record(of: id, in: segment)
  }

  /// Adds a listener.
  ///
  /// - Parameters:
  ///   - buffer: The buffer of the listener.
  ///   - now: Reads the clock that measures the steps; used if this is the first listener.
  mutating func listen(
    _ buffer: EventBuffer, now: @escaping @Sendable () -> ContinuousClock.Instant
  ) {
    if feed == nil { feed = EventFeed(now: now) }
    feed?.add(buffer)
  }

  /// Removes a listener.
  mutating func stopListening(_ buffer: EventBuffer) {
    if feed?.remove(buffer) == true { feed = nil }
  }

  /// Ends step `id`: notifies its observers, and stores the outcome in its record for the handles.
  ///
  /// `endsWork` is whether the work is to be notified, because it has not been canceled before.
  /// `isReceived` is whether something receives a failure even if the handle is discarded.
  private mutating func close(
    _ id: Int, in segment: Segment, _ outcome: StepOutcome, endsWork: Bool, isReceived: Bool,
    _ consequences: inout Consequences?
  ) {
    let record = queue.existingRecord(of: id, in: segment)
    var holdsError = false
    if case .failed(let error) = outcome {
      holdsError = true
      // Only handles retain the error. This may be its last reference.
      consequences.needed.release(error)
      if !isReceived, record?.receivesFailures != true, record?.observers.isEmpty != false {
        let failure = UnreceivedFailure(segment.identity(of: id), error, diagnostics)
        record?.unreceived = failure
        // Reported when it is released: with the record, or after this transition.
        consequences.needed.release(failure)
      }
    }
    guard let record else { return }
    let isWork = record.isWork
    // Retained: the slot may have had the last reference to a user's function.
    if isWork, endsWork {
      record.settle(outcome)
      consequences.needed.end(record, outcome)
    }
    for observer in record.observers { consequences.needed.call { observer(outcome) } }
    record.observers = []
    record.close(outcome)
    if isWork || holdsError || record.isolation != nil {
      if !isWork { consequences.needed.release(record) }
      segment.slot(id).pointee.record = record.name.map { StepRecord(record.lock, name: $0) }
    } else if record.name == nil {
      segment.slot(id).pointee.record = nil
    }
  }
}

// MARK: Trips

extension SerialOrder {
  /// Sends the claim to an actor, or to the queue of handlers.
  ///
  /// - Returns: The ticket to arrive with.
  private mutating func depart(to actor: ObjectIdentifier?) -> Int {
    trips += 1
    phase = .onItsWay(Trip(actor: actor, ticket: trips))
    return trips
  }

  /// Ends a trip, and begins the turn of the thread that has arrived.
  ///
  /// - Returns: The handlers that may run there, and the manager; nil if the claim was taken back.
  mutating func arrive(
    _ ticket: Int, on thread: ThreadIdentity
  ) -> (reach: Reach, manager: (any StepRunner)?)? {
    guard case .onItsWay(let trip) = phase, trip.ticket == ticket else { return nil }
    phase = .claimed
    let reach = trip.actor == nil ? Reach.all : .onActor(of: queue.first)
    beginTurn(reach, on: thread)
    return (reach, owner)
  }

  /// Takes the claim back if it is on its way to where the first step need not run.
  ///
  /// - Returns: Whether the caller now holds the claim.
  private mutating func takeBack(_ consequences: inout Consequences?) -> Bool {
    guard case .onItsWay(let trip) = phase else { return false }
    while let released = queue.skipVacant() { consequences.needed.release(released) }
    let isCode = queue.firstSlot.pointee.work == nil
    let actor = queue.firstSlot.pointee.record?.isolation.map { ObjectIdentifier($0) }
    guard isCode || actor != trip.actor else { return false }
    phase = .claimed
    return true
  }

  /// As `takeBack`, for a caller that runs no handlers: after a step was canceled or moved.
  mutating func takeBackElsewhere(_ consequences: inout Consequences?) {
    if takeBack(&consequences) { continueElsewhere(&consequences) }
  }

  /// Sends the claim of a caller that runs no handlers on.
  private mutating func continueElsewhere(_ consequences: inout Consequences?) {
    // Not after callbacks, which may take long.
    if let owner { consequences.needed.wake { owner.continueElsewhere() } }
  }
}

// MARK: Rate

extension SerialOrder {
  /// As `next`, with the time since the creation of the manager.
  ///
  /// Checks whether the rate allows a step to start.
  @inline(never)
  mutating func next(at time: Duration, _ consequences: inout Consequences?) -> Turn {
    guard let throttle else { return next(&consequences) }
    if allowance == 0 {
      let turn = next(&consequences)
      // If the only step of this turn is next, it now has an allowance.
      guard case .readTime = turn.move else { return turn }
    }
    let delay = throttle.delay(at: time)
    if delay > .zero, !throttle.hasWaited, !isPaused, waitingCount > 0 {
      phase = .throttled
      throttle.beginWait(delay)
      if !waiters.isEmpty { wake(.atRest, &consequences) }
      return Turn(move: .leave)
    }
    allowance.negate()
    // The time is valid for this call only.
    defer { allowance.negate() }
    let turn = next(&consequences)
    // Not before the planned end of the wait, whatever the clock returned: otherwise the next wait
    // would be too short.
    if isRunning { throttle.begin(at: time + delay) }
    return turn
  }

  /// The time for which the manager of a key is retained after the start of a step: its rate would be
  /// forgotten.
  var memory: Duration? {
    isRunning && !companions.isEmpty ? throttle?.rate.interval : nil
  }

  /// The wait before the claim is taken again.
  var throttledWait: (duration: Duration, ticket: Int)? {
    phase == .throttled ? throttle?.wait : nil
  }

  /// Stores the timer of a wait, if that wait is still current.
  mutating func keep(_ timer: Timer, _ ticket: Int) {
    if let throttle, throttledWait?.ticket == ticket { throttle.timer = timer }
  }

  /// Ends a wait.
  ///
  /// - Returns: Whether the caller now holds the claim, because the wait was not canceled.
  mutating func waited(_ ticket: Int, _ consequences: inout Consequences?) -> ThenResult {
    guard let throttle, throttledWait?.ticket == ticket else { return .late }
    throttle.hasWaited = true
    if let timer = throttle.timer.take() { consequences.needed.release(timer) }
    phase = .claimed
    return .claimed(owner)
  }

  /// Cancels the wait or the trip, because no step waits or the queue is paused.
  mutating func cancelWait(_ consequences: inout Consequences?) {
    switch phase {
    case .throttled:
      // The clock may be a user's object.
      if let timer = throttle?.timer.take() { consequences.needed.release(timer) }
    case .onItsWay: if !waiters.isEmpty { wake(.atRest, &consequences) }
    case .resting, .claimed, .handling, .ended, .awaitingThen, .held: return
    }
    phase = .resting
    // Perhaps the last reference to the manager.
    if let owner = restingOwner() { consequences.needed.release(owner) }
  }

  /// Resumes the queue and clears the failure.
  ///
  /// - Returns: Whether the caller now holds the claim, and the failure, to release after the lock
  ///   is released.
  mutating func resume(for owner: (any StepRunner)?) -> (claims: Bool, failure: (any Error)?) {
    isPaused = false
    let claims = claim(for: owner)
    // The caller retains it.
    if phase == .resting, !isKept { self.owner = nil }
    return (claims, failure.take())
  }

  /// Pauses the queue.
  mutating func pause(for owner: (any StepRunner)?, _ consequences: inout Consequences?) {
    isPaused = true
    if isKept { self.owner = owner }
    // It would keep an unreferenced manager alive.
    cancelWait(&consequences)
  }
}

// MARK: Capacity

extension SerialOrder {
  /// Whether the capacity allows another waiting step.
  var hasRoom: Bool { backpressure.capacity.map { waitingCount < $0 } ?? true }

  /// Adds a step regardless of the capacity, and notifies the adder when there is room.
  ///
  /// `admitted` is called with true when the step is within the capacity, or with false when it was
  /// canceled before.
  mutating func addWhenRoom(
    _ work: Work, _ record: StepRecord, lock: Locked<SerialOrder>,
    owner: (any StepRunner)?, admitted: @escaping @Sendable (Bool) -> Void,
    _ consequences: inout Consequences?
  ) -> Admission {
    if isClosed { return .refused(.closed) }
    let hasRoom = hasRoom
    var work: Work? = work
    let admission = enter(&work, record, lock: lock, owner: owner, &consequences)
    if hasRoom {
      consequences.needed.call { admitted(true) }
    } else if case .entered(_, let id, _) = admission {
      backpressure.park(id, admitted)
    }
    return admission
  }

  /// Admits an adder when step `id` has left, or is about to run.
  mutating func leftQueue(_ id: Int, _ consequences: inout Consequences?) {
    // A step that was itself parked, and was moved, leaves no room behind.
    let admitted = backpressure.unpark(id) ?? backpressure.admitFirst()
    if let admitted { consequences.needed.call { admitted(true) } }
  }
}

// MARK: Places

extension SerialOrder {
  /// Moves step `id`, if it waits.
  ///
  /// - Returns: The number of visited slots, for tests: bounded by a few segments, independent of
  ///   the number of waiting steps. Nil if the step does not wait.
  @discardableResult
  mutating func move(_ id: Int, _ record: StepRecord, to place: StepPlace) -> Int? {
    guard let segment = waitingSegment(of: id, record) else { return nil }
    // Without another waiting step, all places are equal.
    guard waitingCount > 1 else { return 0 }
    switch place {
    case .last:
      return queue.move(id, in: segment, to: .last)
    // Compares the locks first: this lock does not protect the record of another manager's step.
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

// MARK: Canceling

extension SerialOrder {
  /// Cancels one step: a waiting step will not run, a running step is requested to stop.
  mutating func cancel(
    _ id: Int, _ record: StepRecord, _ consequences: inout Consequences?
  ) {
    // A step without a segment has ended.
    guard let segment = record.segment else { return }
    switch segment.slot(id).pointee.stage {
    case .waiting:
      let wasParked = cancelWaiting(id, in: segment, &consequences)
      // A step that was itself parked leaves no room behind.
      if !wasParked { leftQueue(id, &consequences) }
      settleAfterCancel(&consequences)
    case .running: if !withdraw(&consequences) { requestCancel(&consequences) }
    case .leaving, .over, .moved: break
    }
  }

  /// Cancels the waiting steps, and requests the running step to stop.
  ///
  /// - Returns: The running step.
  mutating func cancelAll(_ consequences: inout Consequences?) -> Int? {
    cancelNotBegun(&consequences)
    guard isRunning else { return nil }
    requestCancel(&consequences)
    return queue.first
  }

  /// Cancels the waiting steps, and the running one if its code has not begun.
  mutating func cancelNotBegun(_ consequences: inout Consequences?) {
    cancelWaiting(&consequences)
    _ = withdraw(&consequences)
  }

  /// Ends the running step as canceled if its code has not begun: it never will.
  ///
  /// Its task, which learns it on its actor, would hold up the others as long as the actor is busy.
  ///
  /// - Returns: Whether it has.
  private mutating func withdraw(_ consequences: inout Consequences?) -> Bool {
    // A timeout comes first: the step has its outcome when its cancel handlers have returned.
    guard isRunning, timeOutError == nil, queue.firstSlot.pointee.record?.isYetToBegin == true
    else { return false }
    (isCancelRequested, needsCleanup) = (true, true)
    end(CancellationError(), &consequences)
    continueElsewhere(&consequences)
    return true
  }

  /// Cancels the waiting steps, but not the running step.
  ///
  /// Admits no parked adder: its step would be canceled next.
  ///
  /// - Returns: The number of visited slots, for tests: proportional to the number of waiting
  ///   steps.
  @discardableResult
  mutating func cancelWaiting(_ consequences: inout Consequences?) -> Int {
    guard waitingCount > 0 else { return 0 }
    var visited = 0
    while let (segment, ids) = queue.nextToSweep() {
      visited += ids.count
      for id in ids where segment.slot(id).pointee.stage == .waiting {
        _ = cancelWaiting(id, in: segment, &consequences)
      }
    }
    settleAfterCancel(&consequences)
    return visited
  }

  /// - Returns: Whether the step was parked.
  private mutating func cancelWaiting(
    _ id: Int, in segment: Segment, _ consequences: inout Consequences?
  ) -> Bool {
    let slot = segment.slot(id)
    let record = queue.existingRecord(of: id, in: segment)
    waitingCount -= 1
    waitingCountDecreased(&consequences)
    if let work = slot.pointee.work.take() { consequences.needed.release(work) }
    let admitted = backpressure.unpark(id)
    if let admitted { consequences.needed.call { admitted(false) } }
    if let record, record.leavesFirst {
      slot.pointee.stage = .leaving
      leavingCount += 1
      consequences.needed.leave(record, id)
    } else {
      cancelled(id, in: segment, endsWork: true, &consequences)
    }
    if let released = queue.leave(segment) { consequences.needed.release(released) }
    return admitted != nil
  }

  /// Ends steps that were canceled while they waited, after the cancellation of their work.
  mutating func left(_ steps: [(work: StepRecord, id: Int)], _ consequences: inout Consequences?) {
    for (record, id) in steps {
      leavingCount -= 1
      if let segment = record.segment {
        cancelled(id, in: segment, endsWork: false, &consequences)
      }
    }
    settleAfterCancel(&consequences)
    if endsEvents { endEvents(&consequences) }
  }

  private mutating func cancelled(
    _ id: Int, in segment: Segment, endsWork: Bool, _ consequences: inout Consequences?
  ) {
    segment.slot(id).pointee.stage = .over
    feed?.append(.finished(segment.identity(of: id), .cancelled, duration: nil), &consequences)
    close(id, in: segment, .cancelled, endsWork: endsWork, isReceived: true, &consequences)
  }

  /// Records that the work of the running step `id` was canceled by other means than the step.
  mutating func workCancelled(_ id: Int, _ consequences: inout Consequences?) {
    guard awaitsThen(id) else { return }
    endsItself = false
    requestCancel(&consequences)
  }

  mutating func requestCancel(_ consequences: inout Consequences?) {
    guard !isCancelRequested, !endsItself else { return }
    isCancelRequested = true
    needsCleanup = true
    if let record = queue.firstSlot.pointee.record, record.isWork {
      consequences.needed.call(record.cancelWork)
    }
    for handler in cancelHandlers { consequences.needed.call(handler) }
    cancelHandlers = []
  }

  /// Checks whether the queue has become idle, or can continue, after a waiting step was canceled.
  private mutating func settleAfterCancel(_ consequences: inout Consequences?) {
    if waitingCount == 0 { cancelWait(&consequences) } else { takeBackElsewhere(&consequences) }
    // A claimed queue becomes idle when its holder calls `next`.
    guard phase == .resting, isIdle else { return }
    becomeIdle(&consequences)
    if let owner = restingOwner() { consequences.needed.release(owner) }
  }

  /// Registers a handler for the cancellation of the running step `id`.
  ///
  /// - Returns: Whether the step is already canceled; the caller then calls the handler.
  mutating func onCancel(_ id: Int, _ handler: @escaping @Sendable () -> Void) -> Bool {
    guard isRunning, id == queue.first else { return false }
    if isCancelRequested { return true }
    cancelHandlers.append(handler)
    needsCleanup = true
    return false
  }
}

// MARK: Shutdown

extension SerialOrder {
  /// Shuts down on behalf of the manager's `deinit`: rejects steps, and cancels the waiting ones.
  ///
  /// No caller waits for idleness, because waiting retains the manager, and no idle event follows.
  /// Then end the events, and remove the segments with `removeSegment`.
  mutating func invalidate(_ consequences: inout Consequences?) {
    // Claimed for ever: no idle event follows.
    (isClosed, phase) = (true, .claimed)
    cancelWaiting(&consequences)
    queue.removeSpare()
    if let token = spareToken.take() { consequences.needed.release(token) }
    if !companions.isEmpty { consequences.needed.release(companions) }
    companions = []
  }

  /// Ends the events of an invalidated order, after the events of steps that leave on other threads.
  mutating func endEvents(_ consequences: inout Consequences?) {
    endsEvents = leavingCount > 0
    guard !endsEvents, let feed = feed.take() else { return }
    feed.end(&consequences)
  }

  /// Removes the segments of an invalidated order one at a time: releasing the first would recurse.
  mutating func removeSegment() -> Segment? { queue.removeSegment() }
}

// MARK: Idleness and progress

extension SerialOrder {
  /// Whether a condition holds.
  func holds(_ condition: Waiters.Condition) -> Bool {
    switch condition {
    case .idle: isIdle
    case .atRest:
      switch phase {
      case .resting, .throttled: true
      // The claim's holder starts a waiting step, unless the queue is paused.
      case .claimed: isPaused || waitingCount == 0
      case .onItsWay, .handling, .ended, .awaitingThen, .held: false
      }
    case .waitingBelow(let limit): waitingCount < limit
    }
  }

  /// Adds a caller that waits until a condition holds.
  ///
  /// - Returns: A ticket for leaving; nil if the condition already holds.
  mutating func wait(
    for condition: Waiters.Condition, _ wake: @escaping Waiters.Wake
  ) -> Waiters.Ticket? {
    holds(condition) ? nil : waiters.add(condition, wake)
  }

  /// Removes a waiting caller.
  ///
  /// - Returns: Its continuation; nil if it has been woken.
  mutating func stopWaiting(_ ticket: Waiters.Ticket) -> Waiters.Wake? { waiters.remove(ticket) }

  /// Wakes the callers that wait for a condition.
  @inline(never)
  mutating func wake(_ condition: Waiters.Condition, _ consequences: inout Consequences?) {
    for wake in waiters.takeAll(condition) { consequences.needed.call(wake) }
  }

  /// Wakes callers after the number of waiting steps decreased by one.
  @inline(__always)
  mutating func waitingCountDecreased(_ consequences: inout Consequences?) {
    // The number decreases by one at a time, so only this limit is newly met.
    if waiters.haveLimits { wake(.waitingBelow(waitingCount + 1), &consequences) }
  }

  /// Wakes the callers that wait for idleness, and sends the event.
  mutating func becomeIdle(_ consequences: inout Consequences?) {
    if !waiters.isEmpty { wake(.idle, &consequences) }
    feed?.append(.idle, &consequences)
  }

  /// The fraction of finished steps, with the running step's progress, since the queue was last
  /// idle.
  var progress: Double {
    let added = queue.end - idleMark
    guard added > 0 else { return 1 }
    let running = isRunning ? 1 - stepProgress.fraction : 0
    return (Double(added - waitingCount) - running) / Double(added)
  }

  /// Records the progress of the running step `id`.
  mutating func report(_ fraction: Double, of id: Int) -> Progress.Change {
    isRunning(id) ? stepProgress.report(fraction) : .unchanged
  }
}
