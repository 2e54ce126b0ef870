/// A pure state machine that decides which step runs.
///
/// It starts no threads, calls no handlers and takes no locks: `transition` locks it, makes a
/// change, unlocks it and performs the effects. Everything that could run user code (a handler, a
/// callback, the release of either) is an effect, or is returned.
struct SerialOrder {
  private(set) var phase = Phase.resting
  /// The steps, and the observers of them.
  var line: StepLine

  /// Nil for most steps, and when none runs.
  private(set) var supervision: Supervision?

  var spareToken = SpareToken()

  /// The task of a turn that began at once, while that runs.
  var taskAtOnce: UnownedTask?

  var retention = Retention()

  private(set) var isPaused = false
  private(set) var isClosed = false
  let policy: FailurePolicy
  let diagnostics: DiagnosticHandler?

  /// The error for which the policy paused the queue.
  private(set) var failure: (any Error)?

  /// The number of trips and waits of the claim so far.
  private var tickets = 0

  /// Whether handlers without an actor run on the main queue.
  let usesMainQueue: Bool

  /// The rate limiter; nil without a rate.
  let throttle: Throttle?

  init(
    policy: FailurePolicy = .continue, capacity: Int? = nil, rate: Rate? = nil,
    diagnostics: DiagnosticHandler? = nil, usesMainQueue: Bool = false
  ) {
    self.policy = policy
    self.diagnostics = diagnostics
    self.usesMainQueue = usesMainQueue
    line = StepLine(capacity: capacity)
    throttle = rate.map(Throttle.init)
  }

  /// Ends a transition.
  mutating func takeEffects() -> Effects { line.effects.take() }

  // MARK: Adding

  @inline(__always)
  mutating func add(
    _ work: inout Work?, _ record: StepRecord?, at place: StepPlace = .last,
    lock: Locked<SerialOrder>, owner: (any StepRunner)?
  ) -> Admission {
    if isClosed { return .refused(.closed) }
    if !line.hasRoom, let capacity = line.backpressure.capacity, place.replaced(in: lock) == nil {
      return .refused(.full(capacity: capacity))
    }
    let admission = enter(&work, record, lock: lock, owner: owner)
    if case .last = place { return admission }
    guard case .entered(let record, let id, let claims) = admission else { return admission }
    // Under the same lock: no other thread has seen the step elsewhere.
    put(id, record, to: place)
    return .entered(record, id: id, claims: claims || takeBack())
  }

  /// Moves step `id`, if it waits, and cancels the step that it replaces.
  ///
  /// - Returns: The number of visited slots, for tests; nil if the step does not wait.
  @discardableResult
  private mutating func put(_ id: Int, _ record: StepRecord, to place: StepPlace) -> Int? {
    let replaced = place.replaced(by: id, in: record.lock)
    let visited = line.queue.move(id, record, to: place, isRunning: isRunning)
    // Last: with another step in its place, the queue does not become idle. Its segment may have
    // been split.
    if visited != nil, let replaced, let segment = replaced.segmentOfWaiting(in: record.lock) {
      line.cancel(replaced.id, in: segment)
    }
    return visited
  }

  @inline(__always)
  private mutating func enter(
    _ work: inout Work?, _ record: StepRecord?, lock: Locked<SerialOrder>,
    owner: (any StepRunner)?
  ) -> Admission {
    let (record, id) = line.append(&work, record, lock: lock, isIdle: isIdle)
    return .entered(record, id: id, claims: claim(for: owner))
  }

  /// Adds a step regardless of the capacity; calls `admitted` with true when there is room for it,
  /// or with false when it was canceled before.
  mutating func addWhenRoom(
    _ work: Work, _ record: StepRecord, lock: Locked<SerialOrder>,
    owner: (any StepRunner)?, admitted: @escaping @Sendable (Bool) -> Void
  ) -> Admission {
    if isClosed { return .refused(.closed) }
    let hasRoom = line.hasRoom
    var work: Work? = work
    let admission = enter(&work, record, lock: lock, owner: owner)
    if case .entered(_, let id, _) = admission { line.admit(id, ifRoom: hasRoom, admitted) }
    return admission
  }

  /// Moves step `id`, if it waits.
  ///
  /// - Returns: The number of visited slots, for tests; nil if the step does not wait.
  mutating func move(_ id: Int, _ record: StepRecord, to place: StepPlace) -> Int? {
    let visited = put(id, record, to: place)
    if visited != nil { takeBackElsewhere() }
    return visited
  }

  /// Gives the claim to the caller if it is free and a step could run.
  @inline(__always)
  private mutating func claim(for owner: (any StepRunner)?) -> Bool {
    guard case .resting = phase, waitingCount > 0 else { return false }
    if !isPaused || isKept { retention.retain(owner) }
    guard !isPaused else { return false }
    phase = .claimed
    return true
  }

  // MARK: Running

  /// Begins the next step, if it may run where the claim's holder is.
  ///
  /// - Parameters:
  ///   - reach: The handlers that the holder may run.
  ///   - thread: Its thread.
  ///   - time: The time since the creation of a manager with a rate, if it has been read.
  /// - Returns: What the holder does.
  mutating func next(
    _ reach: Reach, on thread: ThreadIdentity, at time: Duration? = nil
  ) -> Turn {
    guard waitingCount > 0, !isPaused else {
      phase = .resting
      line.comeToRest()
      if isIdle { line.becomeIdle() }
      return Turn(object: restingOwner())
    }
    if let released = line.queue.skipVacant() { return Turn(move: .again, object: released) }
    let (id, slot) = (queue.first, queue.firstSlot)
    // A task is resumed by any thread.
    let isCode = slot.pointee.work == nil
    if !isCode, !reach.includes(id, isOfActor: slot.pointee.isOfActor) { return depart() }
    if throttle != nil, let turn = throttled(at: time) { return turn }
    let work = line.begin()
    phase = .running(
      Running(
        thread: isCode ? nil : thread,
        endsItself: isCode && slot.pointee.record?.endsItself != false))
    if line.waiters.priorities.highest > 0 { beganAmongWaiting() }
    guard isCode else { return Turn(move: .run, work: work, id: id) }
    return Turn(move: .grant, waiter: slot.pointee.record?.takeWaiter(), id: id)
  }

  /// Checks whether the rate allows a step to start.
  ///
  /// - Returns: What else to do; nil if the step starts.
  @inline(never)
  private mutating func throttled(at time: Duration?) -> Turn? {
    guard let throttle else { return nil }
    guard let time else { return Turn(move: .readTime) }
    let delay = throttle.delay(at: time)
    if delay > .zero, !throttle.hasWaited {
      tickets += 1
      phase = .throttled(Wait(duration: delay, ticket: tickets))
      line.comeToRest()
      return Turn()
    }
    // Not before the planned end of the wait, whatever the clock returned: otherwise the next wait
    // would be too short.
    throttle.begin(at: time + delay)
    return nil
  }

  /// Adds and begins code in a task that retains the manager, if the queue is idle and nothing
  /// observes it.
  ///
  /// - Returns: The number of its step, which has no record.
  mutating func grantAtOnce(_ lock: Locked<SerialOrder>, to task: UnownedTask? = nil) -> Int? {
    guard case .resting = phase, waitingCount == 0, line.leavingCount == 0, !isPaused, !isClosed,
      throttle == nil, line.feed == nil
    else { return nil }
    phase = .running(Running(endsItself: true))
    taskAtOnce = task
    return line.addRunning(lock)
  }

  /// Ends such a step, if it succeeded and nothing follows.
  mutating func endGranted(_ id: Int) -> Bool {
    guard waitingCount == 0, line.waiters.isEmpty, line.feed == nil, retention.manager == nil,
      supervision == nil, queue.first == id, queue.firstRecord == nil
    else { return false }
    line.queue.endFirst()
    phase = .resting
    return true
  }

  /// As `next`, for a thread that runs a task: it runs no handler.
  mutating func nextInTask() -> Turn {
    // What was caused before comes first.
    line.effects.isEmpty ? next(.none, on: ThreadIdentity()) : Turn(move: .again)
  }

  /// Records a call of the `then` of step `id`.
  mutating func then(id: Int, error: (any Error)?) -> ThenResult {
    guard awaitsThen(id), case .running(var step) = phase else { return .late }
    var error = error
    // Work that is stopped often ends with an error of its own. Not if it ended before the
    // cancellation.
    if isCancelRequested, let own = error {
      line.effects.release(own)
      error = CancellationError()
    }
    guard step.thread != nil || isTimingOut else {
      end(step, error)
      return .claimed(retention.manager)
    }
    // The next step starts only after the handler returns, so that the two do not overlap.
    step.isThenCalled = true
    phase = .running(step)
    if let error { supervised().thenError = error }
    return .counted
  }

  /// Ends the handler of the running step.
  @inline(__always)
  mutating func handlerReturned(
    _ continuation: Continuation, _ reach: Reach, on thread: ThreadIdentity
  ) -> Turn {
    guard case .running(let step) = phase else { preconditionFailure("no handler runs") }
    // The common case: `then` is called on the stack of its handler.
    if continuation == .called, !step.isThenCalled, supervision == nil {
      end(step, nil)
    } else if let turn = handlerReturned(continuation, step) {
      return turn
    }
    return next(reach, on: thread)
  }

  /// - Returns: The next action, or nil if the step has ended.
  @inline(never)
  private mutating func handlerReturned(_ continuation: Continuation, _ step: Running) -> Turn? {
    var step = step
    step.thread = nil
    var error: (any Error)?
    // Timed out, or called on another thread after `then` was checked.
    if step.isThenCalled || continuation == .called {
      error = supervision?.thenError
    } else if supervision?.isGraceOver == true || continuation == .dropped && isCancelRequested {
      error = CancellationError()
    } else if continuation == .dropped {
      error = PromiseError.abandoned(line.first)
    } else {
      phase = .running(step)
      return Turn()
    }
    guard !isTimingOut else {
      step.isThenCalled = true
      phase = .running(step)
      supervision?.thenError = error
      return Turn()
    }
    end(step, error)
    return nil
  }

  /// Fails step `id`, because the last reference to its `then` was released without a call.
  mutating func abandon(id: Int) -> ThenResult {
    // The drain holds a reference while the handler is on the stack.
    guard awaitsThen(id), !isHandling else { return .late }
    return then(id: id, error: PromiseError.abandoned(line.first))
  }

  // MARK: Ending

  /// Ends the running step.
  @inline(__always)
  private mutating func end(_ step: Running, _ error: (any Error)?) {
    phase = .claimed
    // Seldom: the common case is success without observers.
    if error != nil || queue.firstRecord != nil || supervision != nil || line.feed != nil {
      endWatched(step, error)
    }
    line.queue.endFirst()
  }

  private mutating func endWatched(_ step: Running, _ error: (any Error)?) {
    if supervision?.hasTimedOut != true {
      settle(step, error, isTimedOut: false)
    } else if let error {
      line.effects.release(error)
    }
    // The release of cancel handlers, timers and errors may run user code.
    if let supervision = supervision.take() { line.effects.release(supervision) }
  }

  /// Gives the running step its outcome.
  private mutating func settle(_ step: Running, _ error: (any Error)?, isTimedOut: Bool) {
    let isCancelled = isCancelRequested && !isTimedOut
    let outcome: StepOutcome
    var isReceived = true
    if let error {
      let isCancellation = error is CancellationError
      outcome = isCancelled && isCancellation ? .cancelled : .failed(error)
      // A cancellation error may hold a user's object.
      if case .cancelled = outcome { line.effects.release(error) }
      // A cancellation is not reported; a promise's is not either.
      isReceived =
        isCancelled || isCancellation || step.endsItself || policy == .stop || line.feed != nil
    } else {
      outcome = .succeeded
    }
    line.settle(outcome, reporter: isReceived ? nil : diagnostics ?? .shared)
    guard case .failed(let error) = outcome else { return }
    switch policy {
    case .continue: break
    case .stop:
      isPaused = true
      if let failure { line.effects.release(failure) }
      failure = error
    case .cancelRest:
      cancelWaiting()
    }
  }

  // MARK: Requests and limits of the running step

  /// The supervision of step `id`; nil if it does not run.
  mutating func supervision(of id: Int) -> Supervision? {
    isRunning(id) ? supervised() : nil
  }

  /// The supervision of the running step; makes it if there is none.
  private mutating func supervised() -> Supervision {
    if let supervision { return supervision }
    let made = Supervision()
    supervision = made
    return made
  }

  /// Requests the running step to stop.
  private mutating func requestCancel() {
    guard !isCancelRequested else { return }
    let handlers = supervised().requestCancel()
    if let record = queue.firstRecord, record.isWork { line.effects.call(record.cancelWork) }
    for handler in handlers { line.effects.call(handler) }
  }

  /// Records that the work of the running step `id` was canceled by other means than the step.
  mutating func workCancelled(_ id: Int) {
    if awaitsThen(id) { requestCancel() }
  }

  /// Ends the canceled step `id` after its grace period.
  mutating func endCancelled(id: Int) -> ThenResult {
    guard awaitsThen(id), let supervision, supervision.isCancelRequested else { return .late }
    guard isHandling else { return then(id: id, error: CancellationError()) }
    // A `then` that was called on the handler's stack has not taken the lock. It is found when
    // the handler returns, and the step cannot end earlier.
    supervision.isGraceOver = true
    return .counted
  }

  /// Cancels step `id` because its time limit has passed.
  ///
  /// Requires a step whose `then` is called under the lock, which decides what came first.
  ///
  /// - Returns: Nil if `timedOut` follows, when the cancel handlers have returned.
  mutating func timeOut(id: Int, error: any Error, abandoning: Bool) -> ThenResult? {
    guard awaitsThen(id), case .running(let step) = phase else { return .late }
    let supervision = supervised()
    let abandoning = abandoning && !step.endsItself
    if abandoning { supervision.isAbandoned = true }
    // The first limit decides the outcome; a later one may abandon the step.
    switch supervision.limit {
    case .passing: return .counted
    case .passed: return abandoning ? then(id: id, error: nil) : .counted
    case .ahead: supervision.limit = .passing(error)
    }
    if step.endsItself { return timedOut(id: id) }
    requestCancel()
    return nil
  }

  /// Fails the timed-out step `id` after its cancel handlers have returned.
  ///
  /// Its turn ends only with its `then`, unless it is abandoned.
  mutating func timedOut(id: Int) -> ThenResult {
    guard case .running(let step) = phase, id == queue.first, let supervision,
      case .passing(let error) = supervision.limit
    else { return .late }
    supervision.limit = .passed
    // Others report the failure when they are released.
    if let record = queue.firstRecord, record.receivesFailures { supervision.timedOut = record }
    settle(step, error, isTimedOut: true)
    if step.isThenCalled {
      // The turn ends when the handler returns.
      guard step.thread == nil else { return .counted }
      end(step, supervision.thenError)
      return .claimed(retention.manager)
    }
    if supervision.isAbandoned { return then(id: id, error: nil) }
    line.effects.call { [diagnostics, step = line.first] in
      (diagnostics ?? .shared).report(.timedOut(step))
    }
    return .counted
  }

  // MARK: Canceling

  /// Cancels one step: a waiting step will not run, a running step is requested to stop.
  mutating func cancel(_ id: Int, _ record: StepRecord) {
    // A step without a segment has ended.
    guard let segment = record.segment else { return }
    switch segment.slot(id).pointee.stage {
    case .waiting:
      line.cancel(id, in: segment)
      settleAfterCancel()
    case .running: cancelRunning()
    case .leaving, .over, .moved: break
    }
  }

  /// Cancels the waiting steps, and requests the running step to stop.
  ///
  /// - Returns: The running step.
  mutating func cancelAll() -> Int? {
    cancelNotBegun()
    cancelRunning()
    return isRunning ? queue.first : nil
  }

  /// Cancels the waiting steps, and the running one if its code has not begun.
  mutating func cancelNotBegun() {
    cancelWaiting()
    _ = withdraw()
  }

  private mutating func cancelRunning() {
    if !withdraw(), case .running(let step) = phase, !step.endsItself { requestCancel() }
  }

  /// Ends the running step as canceled if its code has not begun: it never will.
  ///
  /// - Returns: Whether it has.
  private mutating func withdraw() -> Bool {
    // Its task learns it on its actor, and would hold up the others as long as that is busy. A
    // timeout comes first: the step has its outcome when its cancel handlers have returned.
    guard case .running(let step) = phase, !isTimingOut, queue.firstRecord?.isYetToBegin == true
    else { return false }
    supervised().isCancelRequested = true
    end(step, CancellationError())
    continueElsewhere()
    return true
  }

  /// - Returns: The number of visited slots, for tests.
  @discardableResult
  mutating func cancelWaiting() -> Int {
    let visited = line.cancelWaiting()
    if visited > 0 { settleAfterCancel() }
    return visited
  }

  /// Ends steps that were canceled while they waited, after the cancellation of their work.
  mutating func left(_ steps: [(work: StepRecord, id: Int)]) {
    line.left(steps)
    settleAfterCancel()
  }

  /// Checks whether the queue has become idle, or can continue, after waiting steps were canceled.
  private mutating func settleAfterCancel() {
    if waitingCount == 0 { cancelWait() } else { takeBackElsewhere() }
    // A claimed queue becomes idle when its holder calls `next`.
    guard case .resting = phase, isIdle else { return }
    line.becomeIdle()
    releaseOwner()
  }

  // MARK: Trips and waits of the claim

  /// Sends the claim to the actor of the first step, or to the queue of handlers.
  @inline(never)
  private mutating func depart() -> Turn {
    let record = queue.firstRecord
    let actor = record?.isolation.map { ObjectIdentifier($0) }
    tickets += 1
    phase = .onItsWay(Trip(actor: actor, ticket: tickets))
    return Turn(
      move: .depart(ticket: tickets), id: queue.first, object: actor == nil ? nil : record)
  }

  /// Ends a trip, and begins the turn of the thread that has arrived.
  ///
  /// - Returns: The handlers that may run there, and the manager; nil if the claim was taken back.
  mutating func arrive(_ ticket: Int) -> (reach: Reach, manager: (any StepRunner)?)? {
    guard case .onItsWay(let trip) = phase, trip.ticket == ticket else { return nil }
    phase = .claimed
    return (trip.actor == nil ? .all : .onActor(of: queue.first), retention.manager)
  }

  /// Takes the claim back if it is on its way to where the first step need not run.
  ///
  /// - Returns: Whether the caller now holds the claim.
  private mutating func takeBack() -> Bool {
    guard case .onItsWay(let trip) = phase else { return false }
    while let released = line.queue.skipVacant() { line.effects.release(released) }
    let isCode = queue.firstSlot.pointee.work == nil
    let actor = queue.firstRecord?.isolation.map { ObjectIdentifier($0) }
    guard isCode || actor != trip.actor else { return false }
    phase = .claimed
    return true
  }

  /// As `takeBack`, for a caller that runs no handlers: after a step was canceled or moved.
  private mutating func takeBackElsewhere() {
    if takeBack() { continueElsewhere() }
  }

  /// Sends the claim of a caller that runs no handlers on.
  private mutating func continueElsewhere() {
    // Not after callbacks, which may take long.
    if let owner = retention.manager { line.effects.wake { owner.continueElsewhere() } }
  }

  /// Stores the timer of a wait, if that wait is still current.
  mutating func keep(_ timer: Timer, _ ticket: Int) {
    if throttledWait?.ticket == ticket { throttle?.timer = timer }
  }

  /// Ends a wait.
  ///
  /// - Returns: Whether the caller now holds the claim, because the wait was not canceled.
  mutating func waited(_ ticket: Int) -> ThenResult {
    guard throttledWait?.ticket == ticket else { return .late }
    throttle?.hasWaited = true
    if let timer = throttle?.timer.take() { line.effects.release(timer) }
    phase = .claimed
    return .claimed(retention.manager)
  }

  /// Cancels the wait or the trip, because no step waits or the queue is paused.
  private mutating func cancelWait() {
    switch phase {
    case .throttled:
      // The clock may be a user's object.
      if let timer = throttle?.timer.take() { line.effects.release(timer) }
    case .onItsWay: line.comeToRest()
    case .resting, .claimed, .running: return
    }
    phase = .resting
    releaseOwner()
  }

  // MARK: Control

  /// Pauses the queue.
  mutating func pause(for owner: (any StepRunner)?) {
    isPaused = true
    if isKept { retention.retain(owner) }
    // It would keep an unreferenced manager alive.
    cancelWait()
  }

  /// Resumes the queue and clears the failure.
  ///
  /// - Returns: Whether the caller now holds the claim.
  mutating func resume(for owner: (any StepRunner)?) -> Bool {
    isPaused = false
    if let failure = failure.take() { line.effects.release(failure) }
    let claims = claim(for: owner)
    // The caller retains it.
    if case .resting = phase { _ = restingOwner() }
    return claims
  }

  /// Rejects further steps.
  ///
  /// - Parameter owner: A key's manager that is closed for itself.
  mutating func close(for owner: (any StepRunner)?) {
    isClosed = true
    if let owner { retention.stayClosed(owner) }
  }

  private var isKept: Bool {
    retention.lasts(whilePaused: isPaused, waiting: waitingCount)
  }

  /// The manager, to be released after the lock is released, because the queue is at rest.
  private mutating func restingOwner() -> (any StepRunner)? { isKept ? nil : retention.end() }

  private mutating func releaseOwner() {
    if let owner = restingOwner() { line.effects.release(owner) }
  }

  /// Ends the company of an object with a key's manager.
  mutating func release(_ companion: ObjectIdentifier) {
    line.effects.release(retention.removeCompanions(companion))
    if case .resting = phase { releaseOwner() }
  }

  // MARK: Shutdown

  /// Shuts down on behalf of the manager's `deinit`: rejects steps, and cancels the waiting ones.
  ///
  /// No caller waits for idleness, because waiting retains the manager, and no idle event follows.
  /// Then end the events, and remove the segments with `removeSegment`.
  mutating func invalidate() {
    // Claimed for ever: no idle event follows.
    (isClosed, phase) = (true, .claimed)
    cancelWaiting()
    line.queue.removeSpare()
    line.effects.release(spareToken)
    spareToken = SpareToken()
    if retention.isOfKey { line.effects.release(retention.removeCompanions()) }
  }
}
