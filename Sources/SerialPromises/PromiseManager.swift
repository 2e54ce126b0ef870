import Dispatch

/// A queue that runs steps strictly one after another.
///
/// ```swift
/// let manager = PromiseManager()
/// manager.add { then in download { then() } }
/// manager.add("upload") { then in upload { error in then(error) } }
/// let value = try await manager.run { try await fetch() }
/// await manager.idle()
/// ```
///
/// **Order.** Steps run in the order of addition, as seen by each adding thread, except those with
/// another ``StepPlace``. Steps may be added on any thread, while a step runs, and inside a
/// handler.
///
/// **Mutual exclusion.** A step's handler starts only after the previous step has ended: its
/// handler has returned *and* its `then` has been called, on any thread. <doc:LifeOfAStep> has the
/// stages of a step, and when a promise ends as a step.
///
/// **Threads.** A handler isolated to an actor, as in code of the main actor, runs on that actor.
/// Others run on the queue `on:` or, without one, on the thread that made the step runnable; see
/// <doc:LifeOfAStep#Threads>.
///
/// **Stack.** Constant, even if many steps call `then` immediately.
///
/// **Lifetime.** The manager stays alive while it has a step to run, even without other references.
/// A paused manager does not: when it is released, its waiting steps are canceled.
///
/// All members are safe to use on any thread. No lock is held while handlers, callbacks or the
/// `deinit` of user objects run.
public final class PromiseManager: StepRunner {
  let order: Locked<SerialOrder>
  let queue: DispatchQueue?
  let diagnostics: DiagnosticHandler?

  /// Sets the time limit of a step before its work begins.
  let limit: (@Sendable (Locked<SerialOrder>, Int) -> Void)?

  /// The mark of turns.
  ///
  /// Stored, because each access to a global variable asks whether it has been made.
  @usableFromInline let marks = RunningStep.local

  /// Measures how long callers wait.
  private let clock: any Clock<Duration>

  /// Measures the time for the rate.
  private let stopwatch: Stopwatch?

  /// Creates an idle manager.
  ///
  /// ```swift
  /// let manager = PromiseManager(
  ///   on: .global(), onFailure: .stop, capacity: 100, timeLimit: .seconds(30))
  /// let polite = PromiseManager(rate: Rate(10, per: .seconds(1)))
  /// ```
  ///
  /// <doc:LifeOfAStep#Time-limits> describes what a time limit does.
  ///
  /// - Parameters:
  ///   - queue: The queue of the handlers; nil selects the thread that made the step runnable. Pass
  ///     `.main` for the main actor.
  ///   - policy: The treatment of the waiting steps after a failure.
  ///   - capacity: The maximum number of waiting steps, without the running one, at least 1; nil
  ///     means no limit.
  ///   - rate: The maximum number of steps that start in any interval; nil means no limit.
  ///   - timeLimit: The maximum duration of each step, from the start of its turn; nil means no
  ///     limit.
  ///   - abandoning: Whether the manager continues with the next step after a timeout, although
  ///     **the work of the step may still be running**.
  ///   - clock: The clock that measures the rate, the time limit, and how long callers wait.
  ///   - diagnostics: The handler for misuse; nil selects ``DiagnosticHandler/shared``.
  public init(
    on queue: DispatchQueue? = nil, onFailure policy: FailurePolicy = .continue,
    capacity: Int? = nil, rate: Rate? = nil, timeLimit: Duration? = nil,
    abandoning: Bool = false, clock: some Clock<Duration> = ContinuousClock(),
    diagnostics: DiagnosticHandler? = nil
  ) {
    require(capacity.map { $0 > 0 } ?? true, "a capacity is at least 1")
    let usesMainQueue = MainQueue.is(queue)
    if usesMainQueue { MainQueue.isUsed.store(true, ordering: .relaxed) }
    order = Locked(
      SerialOrder(
        policy: policy, capacity: capacity, rate: rate, diagnostics: diagnostics,
        usesMainQueue: usesMainQueue))
    self.queue = queue
    self.diagnostics = diagnostics
    if let timeLimit {
      limit = { order, id in order.limit(id, timeLimit, abandoning: abandoning, clock) }
    } else {
      limit = nil
    }
    self.clock = clock
    stopwatch = rate == nil ? nil : Stopwatch(clock)
  }

  /// Creates a manager with its first steps.
  ///
  /// They run as if they had been added with ``add(contentsOf:)``. Without a queue `on:`, a step
  /// whose work is a closure may run on this thread before the manager is returned.
  ///
  /// ```swift
  /// let login = Step("login") { then in download { then() } }
  /// let page = Promise { try await load(url) }
  /// let manager = PromiseManager([login, page], onFailure: .stop)
  /// ```
  ///
  /// - Parameters:
  ///   - steps: The steps. Their `handler`s are read immediately.
  ///   - queue: The queue of the handlers; nil selects the thread that made the step runnable.
  ///   - policy: The treatment of the waiting steps after a failure.
  ///   - capacity: The maximum number of waiting steps, without the running one, at least 1; nil
  ///     means no limit.
  ///   - rate: The maximum number of steps that start in any interval; nil means no limit.
  ///   - timeLimit: The maximum duration of each step, from the start of its turn; nil means no
  ///     limit.
  ///   - abandoning: Whether the manager continues with the next step after a timeout, although
  ///     **the work of the step may still be running**.
  ///   - clock: The clock that measures the rate, the time limit, and how long callers wait.
  ///   - diagnostics: The handler for misuse; nil selects ``DiagnosticHandler/shared``.
  public convenience init(
    _ steps: [any Promisable],
    on queue: DispatchQueue? = nil, onFailure policy: FailurePolicy = .continue,
    capacity: Int? = nil, rate: Rate? = nil, timeLimit: Duration? = nil,
    abandoning: Bool = false, clock: some Clock<Duration> = ContinuousClock(),
    diagnostics: DiagnosticHandler? = nil
  ) {
    self.init(
      on: queue, onFailure: policy, capacity: capacity, rate: rate, timeLimit: timeLimit,
      abandoning: abandoning, clock: clock, diagnostics: diagnostics)
    add(contentsOf: steps)
  }

  deinit {
    order.invalidate()
  }

  // MARK: Adding

  /// Adds a step made from a closure.
  ///
  /// Takes constant time, plus the time of the steps that run on this thread because of it.
  ///
  /// ```swift
  /// manager.add { then in download { then() } }
  /// ```
  ///
  /// In debug builds, a `Task` that the handler starts belongs to the step until `then` is called:
  /// waiting for the manager in it, for instance with `run`, fails with
  /// ``PromiseError/deadlock(_:)``, even if the step does not wait for the task. Call `then`
  /// before, or use `Task.detached` or ``enqueue(_:at:file:line:_:)``.
  ///
  /// - Parameter handler: The work; it must call `then`. A closure isolated to an actor, for
  ///   instance one in code of the main actor, runs on that actor.
  /// - Returns: The step's handle. A step is refused if the manager is closed or full. It then
  ///   fails with that error, never runs, and is reported as a ``Diagnostic``.
  @discardableResult
  public func add(
    @_inheritActorContext _ handler: @escaping @isolated(any) @Sendable (_ then: Then) -> Void
  ) -> StepHandle {
    guard handler.isolation == nil else { return add(Step(nil, handler)) }
    return accept(enter(Work(unisolated: handler), nil), name: nil)
  }

  /// Adds an existing step, which can have a name.
  ///
  /// ```swift
  /// let upload = Step("upload") { then in self.upload(file) { then($0) } }
  /// manager.add(upload)
  /// ```
  ///
  /// - Parameter step: The step.
  /// - Returns: The step's handle.
  @discardableResult
  public func add(_ step: Step) -> StepHandle {
    guard step.promise == nil else { return insert(step) }
    let record = step.name == nil && step.isolation == nil ? nil : record(of: step)
    return accept(enter(step.work, record), name: step.name)
  }

  /// Adds a step of any type, for instance a promise.
  ///
  /// A promise that has not started starts in its turn, even if it is demanded earlier. Its step
  /// ends when the promise is settled and its work has ended; see <doc:LifeOfAStep>.
  ///
  /// ```swift
  /// let page = Promise { try await load(url) }
  /// manager.add(page)  // starts in its turn
  /// ```
  ///
  /// - Parameter step: The step. Its `handler` is read immediately.
  /// - Returns: The step's handle.
  @discardableResult
  public func add(_ step: some Promisable) -> StepHandle { add(Step(step)) }

  /// Adds several steps of any types, one directly after the other: no other thread adds one in
  /// between.
  ///
  /// The steps enter together, in the order of the array, and the first one begins after that. If
  /// the manager is closed, or has no room for all of them, those that it cannot take are refused,
  /// each as by ``add(_:)-(Step)``: with a capacity, at most as many enter together, also if the
  /// manager is idle.
  ///
  /// Takes time proportional to their number.
  ///
  /// ```swift
  /// let page = Promise { try await load(url) }
  /// let photo = Step("photo") { then in upload(file) { then($0) } }
  /// let handles = manager.add(contentsOf: [page, photo])
  /// ```
  ///
  /// - Parameter steps: The steps. Their `handler`s are read immediately.
  /// - Returns: The handles of the steps, in the same order.
  @discardableResult
  public func add(contentsOf steps: [any Promisable]) -> [StepHandle] {
    // Not under the lock: reads the handlers, which is user code.
    var entries = steps.map { step in
      let step = Step(step)
      return (work: Optional(step.workOfTurn), record: record(of: step), name: step.name)
    }
    let admissions = order.transition { order in
      entries.indices.map { index in
        let record = entries[index].record
        let admission = order.add(&entries[index].work, record, lock: self.order, owner: self)
        record.entered(admission)
        return admission
      }
    }
    // All of them before the first one runs.
    for (entry, admission) in zip(entries, admissions) { entry.record.hasEntered(admission) }
    return zip(entries, admissions).map { accept($1, name: $0.name) }
  }

  @inline(__always)
  private func enter(_ work: consuming Work, _ record: StepRecord?) -> SerialOrder.Admission {
    // Moved into the queue, which avoids a retain and a release of the closure.
    var work: Work? = work.marked()
    return order.transition { $0.add(&work, record, lock: order, owner: self) }
  }

  @inline(__always)
  func accept(
    _ admission: SerialOrder.Admission, name: String?, reportsRefusal: Bool = true
  ) -> StepHandle {
    switch admission {
    case .entered(let record, let id, let claims):
      if claims { startTurn(only: id) }
      return StepHandle(record: record, id: id)
    case .refused(let error):
      if reportsRefusal { report(.refused(error)) }
      return StepHandle(record: StepRecord(order, name: name, outcome: .failed(error)), id: 0)
    }
  }

  /// Sets the time after which a caller gives up waiting for its turn.
  ///
  /// - Returns: The timer, which the caller retains while it waits.
  func limit(_ caller: Caller, waitingAtMost limit: Duration?) -> Timer? {
    guard let limit else { return nil }
    // A time that the clock cannot measure counts as passed.
    return Timer(after: limit, on: clock) { _ in caller.giveUp(after: limit) }
  }

  /// The time since the creation of a manager with a rate.
  var elapsed: Duration? { stopwatch?.elapsed() }

  func report(_ diagnostic: Diagnostic) {
    (diagnostics ?? .shared).report(diagnostic)
  }

  // MARK: Running

  /// Starts a turn for the holder of the claim, on this thread or where `on:` specifies.
  ///
  /// - Parameter id: The only step that may run here in a task; nil allows all.
  @inline(never)
  func startTurn(only id: Int? = nil) {
    guard runsOnThisThread else { return continueElsewhere() }
    guard Task.isCurrent else { return drain(.all) }
    // A handler would inherit the task-local values, priority and cancellation of the task, and
    // occupy a thread of the cooperative pool. The task may belong to the previous step, or to a
    // step of another manager.
    drain(RunningStep.local.get().isOfWork ? .none : id.map { .only($0) } ?? .all)
  }

  // In a task runs no handler. If none waits, no dispatch is needed.
  func continueTurn() { drain(runsOnThisThread && !Task.isCurrent ? .insideThen : .none) }

  func continueTurn(
    _ turn: inout SerialOrder.Turn, _ token: inout Token?, _ reach: SerialOrder.Reach
  ) {
    // The common case: nothing waits.
    if case .leave = turn.move { return }
    var next = SerialOrder.Turn()
    swap(&next, &turn)
    var kept = token.take()
    drain(&next, &kept, reach)
  }

  /// Whether `startTurn` runs handlers before it returns.
  var runsOnThisThread: Bool { queue == nil }

  // Not by a dispatch: code in a task, and a manager without waiting steps, need no thread.
  func continueElsewhere() { drain(.none) }

  /// Runs handlers until a step does not end with its handler, or the time limit of the turn
  /// passes.
  ///
  /// Requires the claim.
  ///
  /// - Parameter reach: The handlers that may run here.
  private func drain(_ reach: SerialOrder.Reach) {
    var token: Token?
    var turn = order.transition { order in
      let turn = order.next(reach, on: ThreadIdentity())
      if case .run = turn.move { token = order.spareToken.take() }
      return turn
    }
    drain(&turn, &token, reach)
  }

  /// Runs the handlers of a turn that has begun.
  ///
  /// Inlined with local variables as arguments, which saves a retain and a release for each step.
  @inline(__always)
  private func drain(
    _ turn: inout SerialOrder.Turn, _ token: inout Token?, _ reach: SerialOrder.Reach
  ) {
    var clock = TurnClock()
    var reach = reach
    let thread = ThreadIdentity()
    while true {
      switch turn.move {
      case .run:
        clock.handlerBegins(now: Self.now)
        turn = run(turn, &token, &clock, &reach, on: thread)
      case .grant:
        limit?(order, turn.id)
        turn.waiter?.resume(returning: true)
        return
      case .again:
        turn = order.transition { $0.next(reach, on: thread) }
      case .readTime:
        turn = next(reach, on: thread)
      case .depart(let ticket):
        guard isOnActor(of: turn, reach) else { return send(to: place(of: turn), ticket) }
        let arrived = order.transition { order in
          order.arrive(ticket).map { ($0.reach, order.next($0.reach, on: thread)) }
        }
        guard let arrived else { return }
        (reach, turn) = arrived
      case .leave:
        return
      }
    }
  }

  /// Continues a turn with the current time.
  @inline(never)
  private func next(
    _ reach: SerialOrder.Reach, on thread: ThreadIdentity
  ) -> SerialOrder.Turn {
    guard let stopwatch else { preconditionFailure("a manager with a rate has a stopwatch") }
    // Before the lock: the clock may be a user's.
    let time = stopwatch.elapsed()
    let (turn, wait, memory) = order.transition { order in
      (order.next(reach, on: thread, at: time), order.throttledWait, order.memory)
    }
    if let wait {
      // From the same time: what passes in between would delay the step.
      let timer = stopwatch.timer(time + wait.duration) { [order] _ in
        // A wait that the clock cannot measure counts as finished.
        let result = order.transition { $0.waited(wait.ticket) }
        // On this thread, which runs no task and no other code.
        if case .claimed(let manager?) = result { manager.continueTurn() }
      }
      // Unless the wait has ended or was canceled.
      order.withLock { $0.keep(timer, wait.ticket) }
    }
    if let memory {
      let timer = Locked<Timer?>(nil)
      let running = stopwatch.timer(time + memory) { [self] _ in
        withExtendedLifetime((self, timer.withLock { $0.take() })) {}
      }
      timer.withLock { $0 = running }
    }
    return turn
  }

  /// Whether the next step may run on this thread, because it is the thread of the step's actor.
  @inline(never)
  private func isOnActor(of turn: SerialOrder.Turn, _ reach: SerialOrder.Reach) -> Bool {
    guard MainQueue.is(turn.isolation), MainQueue.isCurrent else { return false }
    return switch reach {
    case .none, .insideThen: false
    // In a task, only the step that the task has added: as in `startTurn`.
    case .only(let id): id == turn.id
    case .all, .onActor: !Task.isCurrent
    }
  }

  /// Where the next step runs: on its actor, or on the queue for handlers.
  private func place(of turn: SerialOrder.Turn) -> HandlerPlace {
    turn.isolation.map { HandlerPlace(isolation: $0) } ?? .queue(queue ?? .global())
  }

  /// Sends the claim to where the next step runs.
  ///
  /// What is sent does not retain the manager, which may be released before it arrives.
  @inline(never)
  private func send(to place: HandlerPlace, _ ticket: Int) {
    place.call { [order] in
      var token: Token?
      let arrived = order.transition { order in
        order.arrive(ticket).map { reach, manager in
          let turn = order.next(reach, on: ThreadIdentity())
          if case .run = turn.move { token = order.spareToken.take() }
          return (turn, reach, manager)
        }
      }
      guard case (var turn, let reach, let manager?)? = arrived else { return }
      manager.continueTurn(&turn, &token, reach)
    }
  }

  private static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

  @inline(__always)
  private func run(
    _ turn: SerialOrder.Turn, _ token: inout Token?, _ clock: inout TurnClock,
    _ reach: inout SerialOrder.Reach, on thread: ThreadIdentity
  ) -> SerialOrder.Turn {
    // Reuses a token for many steps, as long as each releases it.
    let then = Then(token: token.take() ?? Token(lock: order, id: turn.id))
    then.token.reuse(for: turn.id)
    if let limit {
      then.token.callUnderLock()
      limit(order, turn.id)
    }
    turn.work?.call(then)
    token = (consume then).token
    if clock.handlerReturned(now: Self.now) { reach = .none }
    if isOnlyReference(&token) {
      // No other reference exists, so `then` can no longer be called.
      let wasCalled = token?.isCalled ?? false
      return order.transition { order in
        let turn = order.handlerReturned(wasCalled ? .called : .dropped, reach, on: thread)
        switch turn.move {
        case .leave, .grant: order.spareToken.keep(&token)
        case .run, .again, .readTime, .depart: break
        }
        return turn
      }
    }
    let wasCalled = token?.callUnderLock() ?? false
    let turn = order.transition {
      $0.handlerReturned(wasCalled ? .called : .awaited, reach, on: thread)
    }
    // Released after the transition: if this is the last reference, and `then` was not called,
    // its `deinit` finds the step waiting for `then` and fails it.
    token = nil
    return turn
  }
}
