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
    /// The handler returned without a call of `then`. → resuming, held, claimed
    case awaitingThen
    /// The handler returned, the step has another handler, and a thread is going to call `begin`. →
    /// handling, heldResuming, claimed
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
    /// May be the last reference to a manager or to the error of a step. A single field serves both
    /// purposes, because each field adds to the cost of every step.
    var object: AnyObject?
  }

  enum ThenResult {
    /// Somebody else holds the claim, or will when the handler has returned.
    case counted
    /// The step is over; whoever called `then` holds the claim now, on behalf of the manager.
    case claimed((any StepRunner)?)
    /// The step was over already.
    case late
  }

  private(set) var phase = Phase.resting
  private(set) var queue = StepQueue()

  /// A token that was called, for the next turn: so a turn of one step allocates none.
  private var spareToken: Token?

  /// Keeps the manager alive as long as the queue is not at rest.
  private var owner: (any StepRunner)?

  /// How many steps wait, without those that were cancelled.
  private(set) var waitingCount = 0

  private(set) var isPaused = false
  private(set) var isClosed = false
  let policy: FailurePolicy
  let diagnostics: DiagnosticHandler?

  /// Why the policy paused the queue.
  private(set) var failure: (any Error)?

  // What belongs to the step that runs.
  private(set) var isCancelRequested = false
  private var cancelHandlers: [@Sendable () -> Void] = []
  private(set) var stepProgress = Progress()
  private var thenError: (any Error)?

  /// What the running step fails with, however it ends: its time was over.
  private var timeOutError: (any Error)?

  /// Whether the time of the running step is over and its cancel handlers have not returned.
  ///
  /// The step ends only after they return: an observer of its outcome may rely on the work being
  /// canceled.
  private var runsCancelHandlers = false

  /// Whether the running step is to end when its handler returns, unless `then` was called before.
  private(set) var isGraceOver = false

  private var turnThread: ThreadIdentity?

  /// How many handlers the claim's holder may still run before it hands over; 0 when its time is over.
  ///
  /// Negative with a rate: so many, each when the time has been read. So a rate costs other orders no
  /// look of their own.
  private var allowance = 0

  /// The step that the claim's holder may run besides, if it is the next one.
  private var onlyStep = noStep

  /// The first number that was given out since the queue was last idle.
  private var idleMark = 1

  /// Told how far the running step has come.
  private var onProgress: (@Sendable (Double) -> Void)?

  /// Whether handlers run on the main queue.
  let usesMainQueue: Bool

  /// The manager in whose step this one runs, if it does: what begins here begins in that one's turn.
  let hostTurn: Locked<SerialOrder>?

  private(set) var backpressure: Backpressure
  private(set) var waiters = Waiters()

  /// What decides when a step may begin; nil without a rate.
  private let throttle: Throttle?
  private(set) var feed: EventFeed?

  init(
    policy: FailurePolicy = .continue, capacity: Int? = nil, rate: Rate? = nil,
    diagnostics: DiagnosticHandler? = nil, usesMainQueue: Bool = false,
    hostTurn: Locked<SerialOrder>? = nil
  ) {
    self.policy = policy
    self.diagnostics = diagnostics
    self.usesMainQueue = usesMainQueue
    self.hostTurn = hostTurn
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
    owner: (any StepRunner)?
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
    owner: (any StepRunner)?
  ) -> Admission {
    if isIdle { idleMark = queue.end }
    let id = queue.end
    let record = queue.append(&work, record, lock: lock)
    waitingCount += 1
    if let feed, feed.isWatched { feed.append(.added(StepIdentity(id: id, name: record.name))) }
    return .entered(record, id: id, claims: claim(for: owner))
  }

  /// Gives the claim to the caller if nobody has it and a step could run.
  mutating func claim(for owner: (any StepRunner)?) -> Bool {
    guard phase == .resting, !isPaused, waitingCount > 0 else { return false }
    phase = .claimed
    self.owner = owner
    return true
  }

  /// Refuses further steps.
  mutating func close() {
    isClosed = true
  }

  // MARK: Running

  /// Sets how many handlers the claim's holder may run.
  mutating func beginTurn(allowance: Int, on thread: ThreadIdentity) {
    turnThread = thread
    self.allowance = throttle == nil ? allowance : -allowance
    onlyStep = SerialOrder.noStep
  }

  /// A number that no step has.
  static let noStep = 0

  /// Has the claim's holder run this step, and no other, if it is the next one.
  mutating func beginTurn(only id: Int, on thread: ThreadIdentity) {
    beginTurn(allowance: 0, on: thread)
    onlyStep = id
  }

  /// Has the claim's holder hand over before the next handler: its time is over.
  mutating func endTurn() {
    allowance = 0
  }

  /// The token of an earlier turn, for one that runs a handler.
  mutating func takeToken() -> Token? { spareToken.take() }

  /// Keeps the token of a turn that is over; it has to have been called, or its `deinit` would take the
  /// lock when this releases it under the lock.
  mutating func keepToken(_ token: inout Token?) {
    swap(&spareToken, &token)
  }

  mutating func next(_ consequences: inout Consequences?) -> Turn {
    guard waitingCount > 0, !isPaused else {
      phase = .resting
      if !waiters.isEmpty { wake(.atRest, &consequences) }
      if isIdle { becomeIdle(&consequences) }
      return Turn(move: .leave, object: owner.take())
    }
    if let released = queue.skipVacant() { return Turn(move: .again, object: released) }
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
    waitingCountDecreased(&consequences)
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
    case .awaitingThen:
      if runsCancelHandlers { return hold(error, .held) }
      end(error, &consequences)
      return .claimed(owner)
    case .resuming:
      if runsCancelHandlers { return hold(error, .heldResuming) }
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
    case .handling, .awaitingThen, .resuming: id == queue.first
    case .resting, .claimed, .throttled, .ended, .held, .heldResuming: false
    }
  }

  /// The last reference to the `then` of step `id` went away, and nobody had called it.
  mutating func abandon(id: Int, _ consequences: inout Consequences?) -> ThenResult {
    // The drain holds a reference while the handler is on the stack, so only `awaitingThen`
    // remains.
    guard phase == .awaitingThen, id == queue.first else { return .late }
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
    let hasCancelHandlers = !isCancelRequested && !cancelHandlers.isEmpty
    requestCancel(&consequences)
    guard hasCancelHandlers || waitsForThen else {
      return then(id: id, error: error, &consequences)
    }
    // The error of an earlier limit may be a user's object.
    if let old = timeOutError { consequences.needed.release(old) }
    timeOutError = error
    guard hasCancelHandlers else { return .counted }
    runsCancelHandlers = true
    return nil
  }

  /// Continues the timeout of step `id` after its cancel handlers have returned.
  mutating func cancelHandlersReturned(
    id: Int, error: any Error, waitsForThen: Bool, _ consequences: inout Consequences?
  ) -> ThenResult {
    guard isRunning(id), runsCancelHandlers else { return .late }
    runsCancelHandlers = false
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
    // The common case: `then` is called on the stack of its handler.
    if phase == .handling, continuation == .called, !runsCancelHandlers {
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
      phase = .awaitingThen
      return Turn(move: .leave)
    }
    if runsCancelHandlers {
      _ = hold(error, .held)
      return Turn(move: .leave)
    }
    end(error, &consequences)
    return nil
  }
}

// MARK: Ending

extension SerialOrder {
  /// The running step is over.
  @inline(__always)
  mutating func end(_ error: (any Error)?, _ consequences: inout Consequences?) {
    phase = .claimed
    stepProgress = Progress()
    let slot = queue.firstSlot
    // Most steps succeed, and nobody watches.
    if error == nil, slot.pointee.record == nil, !isCancelRequested, cancelHandlers.isEmpty,
      feed == nil
    {
      slot.pointee.stage = .succeeded
      queue.popFirst()
    } else {
      endWatched(error, &consequences)
    }
  }

  private mutating func endWatched(
    _ error: (any Error)?, _ consequences: inout Consequences?
  ) {
    var error = error
    // A step that timed out has failed, whatever it says when it ends at last.
    let isTimedOut = timeOutError != nil
    if let timeOutError = timeOutError.take() {
      // What it says may hold somebody's objects, whose release may run their code.
      if let error { consequences.needed.release(error) }
      error = timeOutError
    }
    let id = queue.first
    let slot = queue.firstSlot
    let segment = queue.firstSegment
    let outcome: StepOutcome
    if let error {
      let isCancelled = isCancelRequested && !isTimedOut && isCancellation(error)
      outcome = isCancelled ? .cancelled : .failed(error)
      // A cancellation may be described by an object of the user's.
      if isCancelled { consequences.needed.release(error) }
    } else {
      outcome = .succeeded
    }
    slot.pointee.stage = outcome.stage
    if isCancelRequested || !cancelHandlers.isEmpty {
      isCancelRequested = false
      isGraceOver = false
      // Their release may run somebody's code.
      consequences.needed.release(cancelHandlers)
      cancelHandlers = []
    }
    if let feed, feed.isWatched { feed.ended(segment.identity(of: id), outcome) }
    close(id, in: segment, outcome, &consequences)
    queue.popFirst()
    if case .failed(let error) = outcome { apply(policy, to: error, &consequences) }
  }

  /// Registers what to call when step `id` is over.
  ///
  /// - Returns: The outcome if it is over already, and nothing was registered.
  mutating func observe(
    _ id: Int, _ record: StepRecord, _ observer: @escaping @Sendable (StepOutcome) -> Void
  ) -> StepOutcome? {
    if case .over(let outcome) = record.state(of: id) { return outcome }
    guard let segment = record.segment else { return nil }
    // Not simply in the record: the slot may not have it yet.
    self.record(of: id, in: segment).observers.append(observer)
    return nil
  }

  /// Keeps an object until step `id` is over, if it runs.
  mutating func keep(_ object: some AnyObject & Sendable, untilOver id: Int) {
    guard isRunning(id) else { return }
    record(of: id, in: queue.firstSegment).observers.append { _ in
      withExtendedLifetime(object) {}
    }
  }

  /// The record of a step that is not over, for what is kept with it.
  mutating func record(of id: Int, in segment: Segment) -> StepRecord {
    queue.record(of: id, in: segment)
  }

  /// Adds a listener.
  mutating func listen(_ buffer: EventBuffer) {
    let feed = feed ?? EventFeed()
    self.feed = feed
    feed.add(buffer)
  }

  private mutating func apply(
    _ policy: FailurePolicy, to error: any Error, _ consequences: inout Consequences?
  ) {
    switch policy {
    case .continue: break
    case .stop:
      isPaused = true
      let old = failure
      failure = error
      if let old { consequences.needed.release(old) }
    case .cancelRest:
      // The thread that ends the step has the claim, and settles when it calls `next`.
      cancelWaitingWithoutSettling(&consequences)
    }
  }

  /// Whether the error says that the work was called off, and not that it went wrong.
  private func isCancellation(_ error: (any Error)?) -> Bool { error is CancellationError }
}

extension SerialOrder {
  /// Step `id` is over: its observers are told, and its record keeps the outcome for the handles.
  mutating func close(
    _ id: Int, in segment: Segment, _ outcome: StepOutcome, _ consequences: inout Consequences?
  ) {
    guard let record = queue.existingRecord(of: id, in: segment) else {
      // Only the events have the outcome.
      if case .failed(let error) = outcome { consequences.needed.release(error) }
      return
    }
    if let unused = record.whenCancelled.take() { consequences.needed.release(unused) }
    if !record.resumptions.isEmpty {
      drop(record.resumptions, &consequences)
      record.resumptions = []
    }
    if !record.observers.isEmpty { consequences.needed.notify(record.takeObservers(), outcome) }
    record.close(outcome)
    if case .failed = outcome {
      // An error is kept by the handles only. This may be the last reference to it.
      consequences.needed.release(record)
      segment.slot(id).pointee.record = record.name.map { StepRecord(record.lock, name: $0) }
    } else if record.name == nil {
      segment.slot(id).pointee.record = nil
    }
  }
}

// MARK: Resuming

extension SerialOrder {
  /// Has the running step `id` go on with another handler.
  ///
  /// - Returns: Whether the caller now holds the claim, because no other thread is going to check.
  mutating func addResumption(
    id: Int, _ resumption: Resumption, _ consequences: inout Consequences?
  ) -> ThenResult {
    // Under the lock, so that no work begins beside the next step, after its own has ended.
    guard isUndecided(id) else {
      drop([resumption], &consequences)
      return .late
    }
    queue.record(of: id, in: queue.firstSegment).resumptions.append(resumption)
    guard phase == .awaitingThen else { return .counted }
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
      preconditionFailure("a resumed step has a record")
    }
    allowance -= allowance.signum()
    phase = .handling
    return Turn(move: .resume, id: queue.first, object: record.resumptions.removeFirst())
  }

  /// Lets go of handlers that will not run, after the lock: what they hold is somebody's.
  func drop(_ resumptions: [Resumption], _ consequences: inout Consequences?) {
    consequences.needed.release(resumptions)
    for resumption in resumptions { consequences.needed.call(resumption.drop) }
  }
}

// MARK: Rate

extension SerialOrder {
  /// As `next`, for one who has read the time, since the manager was made: asks the rate whether a step
  /// may begin.
  @inline(never)
  mutating func next(at time: Duration, _ consequences: inout Consequences?) -> Turn {
    guard let throttle else { return next(&consequences) }
    if allowance == 0 {
      let turn = next(&consequences)
      // If the only step of this turn is the next one, it has an allowance now.
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
    // Only this look has the time: another one is later.
    defer { allowance.negate() }
    let turn = next(&consequences)
    // Not before the wait was to end, whatever the clock says: or the next wait would be too short.
    if case .run = turn.move { throttle.begin(at: time + delay) }
    return turn
  }

  /// How long to wait before the claim is to be taken again.
  var throttledWait: (duration: Duration, ticket: Int)? {
    phase == .throttled ? throttle?.wait : nil
  }

  /// Keeps what ends a wait, if that is still awaited.
  mutating func keep(_ timer: Timer, _ ticket: Int) {
    if let throttle, throttledWait?.ticket == ticket { throttle.timer = timer }
  }

  /// A wait is over.
  ///
  /// - Returns: Whether the caller holds the claim now: that wait was not called off.
  mutating func waited(_ ticket: Int, _ consequences: inout Consequences?) -> ThenResult {
    guard let throttle, throttledWait?.ticket == ticket else { return .late }
    throttle.hasWaited = true
    if let timer = throttle.timer.take() { consequences.needed.release(timer) }
    phase = .claimed
    return .claimed(owner)
  }

  /// Cancels the wait, because no step waits or the queue is paused.
  mutating func cancelWait(_ consequences: inout Consequences?) {
    guard phase == .throttled else { return }
    phase = .resting
    // The clock may be the user's. The manager may have been alive for this only.
    if let timer = throttle?.timer.take() { consequences.needed.release(timer) }
    if let owner = owner.take() { consequences.needed.release(owner) }
  }

  /// Begins steps again, and forgets the failure.
  ///
  /// - Returns: Whether the caller holds the claim now, and the failure, to be released after the lock.
  mutating func resume(for owner: (any StepRunner)?) -> (claims: Bool, failure: (any Error)?) {
    isPaused = false
    return (claim(for: owner), failure.take())
  }

  /// Begins no further step until it is resumed.
  mutating func pause(_ consequences: inout Consequences?) {
    isPaused = true
    // The wait would keep an unreferenced manager alive.
    cancelWait(&consequences)
  }
}

// MARK: Capacity

extension SerialOrder {
  /// Whether one more step may wait.
  var hasRoom: Bool { backpressure.capacity.map { waitingCount < $0 } ?? true }

  /// Adds a step although there may be no room, and tells the adder when there is.
  ///
  /// `admitted` is called when the step has come within the capacity, or with false when it was
  /// cancelled before.
  mutating func addWhenRoom(
    _ handler: @escaping Work.Handler, _ record: StepRecord, lock: Locked<SerialOrder>,
    owner: (any StepRunner)?, admitted: @escaping @Sendable (Bool) -> Void,
    _ consequences: inout Consequences?
  ) -> Admission {
    if isClosed { return .refused(.closed) }
    let hasRoom = hasRoom
    var work: Work? = Work(call: handler)
    let admission = enter(&work, record, lock: lock, owner: owner)
    if hasRoom {
      consequences.needed.call { admitted(true) }
    } else if case .entered = admission {
      backpressure.park(record, admitted)
    }
    return admission
  }

  /// A step that had room has left: the first one parked has room now.
  mutating func admitParked(_ consequences: inout Consequences?) {
    if let admitted = backpressure.admitFirst() { consequences.needed.call { admitted(true) } }
  }

  /// The step with this record is about to run.
  mutating func leftQueue(_ record: StepRecord?, _ consequences: inout Consequences?) {
    // One that was parked itself, and was moved, leaves no room behind.
    if let admitted = backpressure.unpark(record) {
      consequences.needed.call { admitted(true) }
    } else {
      admitParked(&consequences)
    }
  }
}

// MARK: Places

extension SerialOrder {
  /// Adds a step at a place.
  mutating func add(
    _ work: inout Work?, _ record: StepRecord, at place: StepPlace,
    lock: Locked<SerialOrder>, owner: (any StepRunner)?
  ) -> Admission {
    let admission = add(&work, record, lock: lock, owner: owner)
    // Under the same lock: no other thread has seen it elsewhere.
    if case .entered(_, let id, _) = admission, !isLast(place) { move(id, record, to: place) }
    return admission
  }

  private func isLast(_ place: StepPlace) -> Bool {
    if case .last = place { true } else { false }
  }

  /// Moves step `id`, if it waits.
  ///
  /// - Returns: How many slots were visited, for tests: no more than a few segments have, however many
  ///   steps wait; nil if the step does not wait.
  @discardableResult
  mutating func move(_ id: Int, _ record: StepRecord, to place: StepPlace) -> Int? {
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

// MARK: Canceling

extension SerialOrder {
  /// Cancels one step: one that waits will never run, one that runs is told.
  ///
  /// - Returns: Whether this asked a running step, which is still to end.
  mutating func cancel(
    _ id: Int, _ record: StepRecord, _ consequences: inout Consequences?
  ) -> Bool {
    // Without a segment it is over.
    guard let segment = record.segment else { return false }
    switch segment.slot(id).pointee.stage {
    case .waiting:
      let wasParked = cancelWaiting(id, in: segment, &consequences)
      // One that was parked itself leaves no room behind.
      if !wasParked { admitParked(&consequences) }
      settleAfterCancel(&consequences)
      return false
    case .running:
      requestCancel(&consequences)
      return true
    case .succeeded, .failed, .cancelled, .moved:
      return false
    }
  }

  /// Cancels all that waits, and tells the one that runs.
  ///
  /// - Returns: The running step that was told.
  mutating func cancelAll(_ consequences: inout Consequences?) -> Int? {
    cancelWaiting(&consequences)
    guard isRunning else { return nil }
    requestCancel(&consequences)
    return queue.first
  }

  /// Cancels all that waits, and does not tell the one that runs.
  ///
  /// - Returns: How many slots were visited, for tests: in proportion to the steps that wait.
  @discardableResult
  mutating func cancelWaiting(_ consequences: inout Consequences?) -> Int {
    guard waitingCount > 0 else { return 0 }
    let visited = cancelWaitingWithoutSettling(&consequences)
    settleAfterCancel(&consequences)
    return visited
  }

  /// Cancels all that waits, and leaves it to the caller to see that the queue may have become idle.
  ///
  /// Admits no parked adder: its step would be cancelled next.
  ///
  /// - Returns: How many slots were visited.
  @discardableResult
  mutating func cancelWaitingWithoutSettling(_ consequences: inout Consequences?) -> Int {
    guard waitingCount > 0 else { return 0 }
    var visited = 0
    while let (segment, ids) = queue.nextToSweep() {
      visited += ids.count
      for id in ids where segment.slot(id).pointee.stage == .waiting {
        _ = cancelWaiting(id, in: segment, &consequences)
      }
    }
    return visited
  }

  /// - Returns: Whether the step was parked.
  private mutating func cancelWaiting(
    _ id: Int, in segment: Segment, _ consequences: inout Consequences?
  ) -> Bool {
    let slot = segment.slot(id)
    slot.pointee.stage = .cancelled
    waitingCount -= 1
    waitingCountDecreased(&consequences)
    if let work = slot.pointee.work.take() { consequences.needed.release(work) }
    var wasParked = false
    if let admitted = backpressure.unpark(slot.pointee.record) {
      wasParked = true
      consequences.needed.call { admitted(false) }
    }
    // Before those who ask for the outcome: they may look at what it was.
    if let cancel = slot.pointee.record?.whenCancelled.take() { consequences.needed.call(cancel) }
    if let feed, feed.isWatched { feed.append(.cancelled(segment.identity(of: id))) }
    close(id, in: segment, .cancelled, &consequences)
    if let released = queue.leave(segment) { consequences.needed.release(released) }
    return wasParked
  }

  /// Records that the work of the running step `id` was canceled by other means than the step.
  mutating func workCancelled(_ id: Int, _ consequences: inout Consequences?) {
    if isUndecided(id) { requestCancel(&consequences) }
  }

  mutating func requestCancel(_ consequences: inout Consequences?) {
    guard !isCancelRequested else { return }
    isCancelRequested = true
    guard !cancelHandlers.isEmpty else { return }
    consequences.needed.call(cancelHandlers)
    cancelHandlers = []
  }

  /// With the last waiting step gone, a queue in which nothing runs has become idle.
  private mutating func settleAfterCancel(_ consequences: inout Consequences?) {
    if waitingCount == 0 { cancelWait(&consequences) }
    // A claimed queue becomes idle when its holder calls `next`.
    if phase == .resting, isIdle { becomeIdle(&consequences) }
  }

  /// Registers what to call when the running step `id` is cancelled.
  ///
  /// - Returns: Whether it has been cancelled already, so that the caller has to call it.
  mutating func onCancel(_ id: Int, _ handler: @escaping @Sendable () -> Void) -> Bool {
    guard isRunning, id == queue.first else { return false }
    if isCancelRequested { return true }
    cancelHandlers.append(handler)
    return false
  }
}

// MARK: Going away

extension SerialOrder {
  /// The manager goes away: refuses steps, cancels what waits, ends the events.
  ///
  /// No caller waits for idleness, because waiting retains the manager, and no idle event follows.
  /// Remove the segments with `removeSegment`.
  mutating func invalidate(_ consequences: inout Consequences?) {
    isClosed = true
    cancelWaitingWithoutSettling(&consequences)
    queue.removeSpare()
    if let token = spareToken.take() { consequences.needed.release(token) }
    feed?.end()
  }

  /// Takes out the segments of a dissolved order, one at a time: dropping the first would recurse.
  mutating func removeSegment() -> Segment? { queue.removeSegment() }
}

// MARK: Idleness and progress

extension SerialOrder {
  /// Whether nothing runs, and nothing is about to begin.
  var isAtRest: Bool {
    // The thread with the claim begins what waits, unless the queue is paused.
    !isRunning && (phase != .claimed || isPaused || waitingCount == 0)
  }

  /// Whether that is so which is waited for.
  func holds(_ condition: Waiters.Condition) -> Bool {
    switch condition {
    case .idle: isIdle
    case .atRest: isAtRest
    case .waitingBelow(let limit): waitingCount < limit
    }
  }

  /// Adds a caller that waits until a condition holds.
  ///
  /// - Returns: What it takes to leave; nil if the condition holds already.
  mutating func wait(
    for condition: Waiters.Condition, _ wake: @escaping Waiters.Wake
  ) -> Waiters.Ticket? {
    holds(condition) ? nil : waiters.add(condition, wake)
  }

  /// Removes a caller that waits.
  ///
  /// - Returns: What resumes it; nil if it has been woken.
  mutating func stopWaiting(_ ticket: Waiters.Ticket) -> Waiters.Wake? { waiters.remove(ticket) }

  /// That is so now which some may wait for.
  @inline(never)
  mutating func wake(_ condition: Waiters.Condition, _ consequences: inout Consequences?) {
    let woken = waiters.takeAll(condition)
    if !woken.isEmpty { consequences.needed.call(woken) }
  }

  /// One step fewer waits.
  @inline(__always)
  mutating func waitingCountDecreased(_ consequences: inout Consequences?) {
    // The number decreases by one at a time, so only this limit is newly met.
    if waiters.haveLimits { wake(.waitingBelow(waitingCount + 1), &consequences) }
  }

  /// Nothing runs and nothing waits any more.
  mutating func becomeIdle(_ consequences: inout Consequences?) {
    if !waiters.isEmpty { wake(.idle, &consequences) }
    if let feed, feed.isWatched { feed.append(.idle) }
  }

  /// Finished steps and the running one's progress, over all that were added since the last idle.
  var progress: Double {
    let added = queue.end - idleMark
    guard added > 0 else { return 1 }
    let running = isRunning ? 1 - stepProgress.fraction : 0
    return (Double(added - waitingCount) - running) / Double(added)
  }

  /// Calls back as the running step's progress rises.
  mutating func onProgress(_ callback: @escaping @Sendable (Double) -> Void) {
    onProgress = callback
  }

  /// The running step `id` has come this far.
  mutating func report(
    _ fraction: Double, of id: Int, _ consequences: inout Consequences?
  ) -> Progress.Change {
    guard isRunning(id) else { return .unchanged }
    let change = stepProgress.report(fraction)
    if let onProgress, case .risen(let fraction) = change {
      consequences.needed.call { onProgress(fraction) }
    }
    return change
  }
}

extension StepOutcome {
  var stage: Slot.Stage {
    switch self {
    case .succeeded: .succeeded
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }
}
