import Dispatch

/// Runs steps strictly one after another.
///
/// ```swift
/// let manager = PromiseManager()
/// manager.add { then in download { then() } }
/// manager.add("upload") { then in upload { error in then(error) } }
/// let value = try await manager.run { try await fetch() }
/// await manager.idle()
/// ```
///
/// **Order.** Steps run in the order of adding, as each adding thread sees it, but for those that are
/// given another ``StepPlace``. Steps may be added from any thread, while a step runs, and from inside a
/// handler.
///
/// **Never two.** A step's handler does not start before the step before it is over: its handler
/// has returned *and* its `then` has been called, from whichever thread. A step that is a promise is
/// over when the promise is settled *and* its work has ended. What a step wrote is visible to the next.
///
/// **Where handlers run.** Without `on:`, on the thread that made the step runnable: the one that
/// added it to an idle manager, that called the previous step's `then`, or that resumed the
/// manager. After a few milliseconds, when a handler has returned, the rest runs on a global queue,
/// so that no thread is held for long. In a task, `then` and what a step's own work adds or resumes
/// run no handler; those run on a global queue, too: a handler sees no other step's task, and blocks no
/// thread that tasks need. With `on:`, handlers run on that dispatch queue, a few milliseconds at a time; `.main` is the
/// main actor's.
///
/// **Stack.** Constant, however many steps call `then` at once.
///
/// **Life.** The manager stays alive while it has a step to run, even if nobody else holds it. A
/// paused manager does not: when it goes away, what waits in it is cancelled.
///
/// All members may be used from any thread. No lock is held while handlers, callbacks or the
/// `deinit` of anything that was handed in run.
public final class PromiseManager: StepRunner {
  let order: Locked<SerialOrder>
  private let queue: DispatchQueue?
  let diagnostics: DiagnosticHandler?

  /// Sets the time limit of a step whose handler is about to be called.
  private let limit: (@Sendable (Then) -> Void)?

  /// What the rate is measured with.
  private let stopwatch: Stopwatch?

  /// The step within which all handlers run, and which holds up another manager meanwhile.
  private let host: Then?

  /// Makes a manager with nothing to do.
  ///
  /// ```swift
  /// let manager = PromiseManager(on: .global(), onFailure: .stop, capacity: 100)
  /// let polite = PromiseManager(rate: Rate(10, per: .seconds(1)), timeLimit: .seconds(30))
  /// ```
  ///
  /// - Parameters:
  ///   - queue: Where handlers run; nil means on the thread that made the step runnable. Pass
  ///     `.main` for the main actor.
  ///   - policy: What happens to the rest when a step fails.
  ///   - capacity: How many steps may wait, the running one not counted, at least 1; nil means any number.
  ///   - rate: How many steps may begin in any interval of time; nil means any number.
  ///   - timeLimit: How long each step may take, from its turn on; nil means forever. A step that takes
  ///     longer is canceled and fails with ``PromiseError/timedOut(_:)``, and so does what `run` or
  ///     `enqueue` gives (`serially`: inside its ``WhenError``). A promise that was added as the step is
  ///     itself canceled, if it can be: its `value` throws `CancellationError`; only the handle says
  ///     `timedOut`. The manager continues with the next step: **what the step started may still be
  ///     running**. A step may also have a time limit of its own; the one that is over first counts.
  ///   - clock: What measures the rate and the time limit.
  ///   - diagnostics: Where misuse is reported; nil means ``DiagnosticHandler/shared``.
  public init(
    on queue: DispatchQueue? = nil, onFailure policy: FailurePolicy = .continue,
    capacity: Int? = nil, rate: Rate? = nil, timeLimit: Duration? = nil,
    clock: some Clock<Duration> = ContinuousClock(), diagnostics: DiagnosticHandler? = nil
  ) {
    precondition(capacity.map { $0 > 0 } ?? true, "a capacity is at least 1")
    let usesMainQueue = MainQueue.is(queue)
    if usesMainQueue { MainQueue.isUsed.store(true, ordering: .relaxed) }
    order = Locked(
      SerialOrder(
        policy: policy, capacity: capacity, rate: rate, diagnostics: diagnostics,
        usesMainQueue: usesMainQueue))
    self.queue = queue
    self.diagnostics = diagnostics
    if let timeLimit {
      limit = { then in then.limit(timeLimit, waitsForThen: false, clock) }
    } else {
      limit = nil
    }
    stopwatch = rate == nil ? nil : Stopwatch(clock)
    host = nil
  }

  /// Makes a manager whose handlers are those of a step of another manager: they run where its
  /// handlers do, and none begins when the step is over.
  init(within host: Then) {
    let outer = host.token.lock
    let (diagnostics, turn) = outer.withLock { ($0.diagnostics, $0.hostTurn ?? outer) }
    order = Locked(SerialOrder(diagnostics: diagnostics, hostTurn: turn))
    queue = nil
    self.diagnostics = diagnostics
    // Those of the step are the host's manager's.
    limit = nil
    stopwatch = nil
    self.host = host
  }

  deinit {
    order.invalidate()
  }

  // MARK: Adding

  /// Adds a step made of a closure.
  ///
  /// Takes constant time, beside the time of the steps that run on this thread because of it.
  ///
  /// ```swift
  /// manager.add { then in download { then() } }
  /// ```
  ///
  /// - Parameter handler: The work; it has to call `then`.
  /// - Returns: The step's handle. A step that was refused, because the manager is closed or
  ///   full, has failed with that error, will never run, and is reported as a ``Diagnostic``.
  @discardableResult
  public func add(_ handler: consuming @escaping Promisable.Handler) -> StepHandle {
    accept(enter(handler, nil), name: nil)
  }

  /// Adds a named step.
  ///
  /// ```swift
  /// let upload = Step("upload") { then in self.upload(file) { error in then(error) } }
  /// manager.add(upload)
  /// ```
  ///
  /// - Parameter step: The step.
  /// - Returns: The step's handle.
  @discardableResult
  public func add(_ step: Step) -> StepHandle {
    if let promise = step.promise { return add(promise, step.handler, name: step.name) }
    return accept(enter(step), name: step.name)
  }

  /// Adds a step for a caller that waits for it, and gets the error if it is refused.
  func addCall(_ step: Step, at place: StepPlace) -> StepHandle {
    if case .last = place { return accept(enter(step), name: step.name, isCall: true) }
    return add(step.handler, name: step.name, at: place, isCall: true)
  }

  /// Adds a step of any type.
  ///
  /// A promise that has not begun begins in its turn, whatever else wants its value. Its step is over
  /// when the promise is settled and its work has ended; see <doc:LifeOfAStep>.
  ///
  /// ```swift
  /// let page = Promise { try await load(url) }
  /// manager.add(page)  // starts in its turn
  /// ```
  ///
  /// - Parameter step: The step. Its `handler` is read now.
  /// - Returns: The step's handle.
  @discardableResult
  public func add(_ step: some Promisable) -> StepHandle {
    if let step = step as? Step { return add(step) }
    if let promise = step.promise { return add(promise, step.handler, name: step.stepName) }
    return accept(enter(step.handler, nil), name: nil)
  }

  @inline(__always)
  private func enter(_ step: Step) -> SerialOrder.Admission {
    enter(step.handler, step.name.map { StepRecord(order, name: $0) })
  }

  @inline(__always)
  private func enter(
    _ handler: consuming @escaping Promisable.Handler, _ record: StepRecord?
  ) -> SerialOrder.Admission {
    // Moved into the queue, which spares the closure a retain and a release.
    var work: Work? = Work(call: consume handler)
    return order.transition { order, _ in
      order.add(&work, record, lock: self.order, owner: self)
    }
  }

  @inline(__always)
  func accept(
    _ admission: SerialOrder.Admission, name: String?, isCall: Bool = false
  ) -> StepHandle {
    switch admission {
    case .entered(let record, let id, let claims):
      if claims { startTurn(isCall ? .called(id) : .added(id)) }
      return StepHandle(record, id: id)
    case .refused(let error):
      if !isCall { report(.refused(error)) }
      return StepHandle(StepRecord(order, name: name, refused: error), id: 0)
    }
  }

  func report(_ diagnostic: Diagnostic) {
    (diagnostics ?? .shared).report(diagnostic)
  }

  // MARK: Running

  /// What made a step runnable.
  enum Cause {
    /// This step was added, and runs at once.
    case added(Int)
    /// The same, for work of the adder, which waits for it.
    case called(Int)
    /// The manager was resumed.
    case resumed
    /// The step before is over.
    case ended
  }

  /// Does what the claim obliges to: runs what can run, here or where `on:` says.
  @inline(never)
  func startTurn(_ cause: Cause) {
    guard runsOnThisThread else { return continueElsewhere() }
    // Always in a task.
    if case .called(let id) = cause { return drain(only: id) }
    guard withUnsafeCurrentTask(body: { $0 != nil }) else { return drain() }
    // A handler would see the task-local values, the priority and the cancellation of the task, and
    // hold a thread of the cooperative pool. The task may be that of the step before, or of another
    // manager's step.
    switch cause {
    case .added(let id) where RunningStep.current == nil: drain(only: id)
    case .resumed where RunningStep.current == nil: drain()
    case .added, .called, .resumed, .ended:
      // Runs none. Where nothing waits, as after most calls of `run`, there is nothing to do elsewhere.
      drain(only: SerialOrder.noStep)
    }
  }

  func continueTurn() { startTurn(.ended) }

  /// Whether `startTurn` runs handlers before it returns.
  var runsOnThisThread: Bool { queue == nil && host == nil }

  /// As `startTurn`, but not on this thread.
  func continueElsewhere() {
    if let host {
      host.addResumption(
        { then in
          // Asked here, because who cancels the host may not yet have come to tell this manager.
          if then.isCancelled { self.dropTurn() } else { self.drain() }
        }, orElse: { self.dropTurn() })
    } else {
      (queue ?? .global()).async { self.drain() }
    }
  }

  /// The step within which this manager runs is cancelled or over: begins no work, and gives the claim
  /// up.
  private func dropTurn() {
    // First, so that the turn finds nothing to run but what sees that it is cancelled.
    cancelAll()
    drain()
  }

  /// Runs one handler after another as long as each is over when it returns, and time allows.
  ///
  /// Only the holder of the claim may call this.
  ///
  /// - Parameter id: The only step that may run here; nil for all.
  private func drain(only id: Int? = nil) {
    var token: Token?
    var clock = TurnClock()
    let thread = ThreadIdentity()
    var turn = order.transition { order, consequences in
      if let id {
        order.beginTurn(only: id, on: thread)
      } else {
        order.beginTurn(allowance: .max, on: thread)
      }
      let turn = order.begin(&consequences)
      if case .run = turn.move { token = order.takeToken() }
      return turn
    }
    while true {
      switch turn.move {
      case .run:
        clock.handlerBegins(now: Self.now)
        turn = run(turn, &token, &clock)
      case .resume:
        clock.handlerBegins(now: Self.now)
        turn = resume(turn, &clock)
      case .again:
        turn = order.transition { order, consequences in
          if let id { order.beginTurn(only: id, on: thread) }
          return order.next(&consequences)
        }
      case .readTime:
        turn = next(only: id, on: thread)
      case .handOver:
        return continueElsewhere()
      case .leave:
        return
      }
    }
  }

  /// Looks at what is next, with the time.
  @inline(never)
  private func next(only id: Int?, on thread: ThreadIdentity) -> SerialOrder.Turn {
    guard let stopwatch else { preconditionFailure("a manager with a rate has a stopwatch") }
    // Before the lock: the clock may be the user's.
    let time = stopwatch.elapsed()
    let (turn, wait) = order.transition { order, consequences in
      // Once more, because it may have been canceled since.
      if let id { order.beginTurn(only: id, on: thread) }
      let turn = order.next(at: time, &consequences)
      return (turn, order.throttledWait)
    }
    if let wait {
      let timer = stopwatch.timer(wait.duration) { [order] _ in
        // A time that the clock cannot measure counts as over.
        let result = order.transition { $0.waited(wait.ticket, &$1) }
        // On this thread, which belongs to no task and runs no other code.
        if case .claimed(let manager?) = result { manager.continueTurn() }
      }
      // If it is not over already, or called off.
      order.withLock { $0.keep(timer, wait.ticket) }
    }
    return turn
  }

  private static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

  @inline(__always)
  private func run(
    _ turn: SerialOrder.Turn, _ token: inout Token?, _ clock: inout TurnClock
  ) -> SerialOrder.Turn {
    // One token serves many steps, as long as each lets go of it.
    let then = Then(token: token.take() ?? Token(lock: order, id: turn.id))
    then.token.reuse(for: turn.id)
    if let limit { limit(then) }
    turn.work?.call(then)
    token = (consume then).token
    let isOver = clock.handlerReturned(now: Self.now)
    if isKnownUniquelyReferenced(&token) {
      // Nobody is left who could call it: what has not been called never will be.
      let wasCalled = token?.wasCalled ?? false
      return order.transition { order, consequences in
        if isOver { order.endTurn() }
        let turn = order.handlerReturned(wasCalled ? .called : .dropped, &consequences)
        if wasCalled, case .leave = turn.move { order.keepToken(&token) }
        return turn
      }
    }
    let wasCalled = token?.handlerReturned() ?? false
    let turn = order.transition { order, consequences in
      if isOver { order.endTurn() }
      return order.handlerReturned(wasCalled ? .called : .awaited, &consequences)
    }
    // Released after the transition: if this is the last reference, and `then` was not called,
    // its `deinit` finds the step waiting for `then` and fails it.
    token = nil
    return turn
  }

  /// Runs a further handler of the step that runs.
  @inline(never)
  private func resume(_ turn: SerialOrder.Turn, _ clock: inout TurnClock) -> SerialOrder.Turn {
    guard let resumption = turn.object as? Resumption else {
      preconditionFailure("there is a handler to run")
    }
    resumption.handler(resumption.then)
    let isOver = clock.handlerReturned(now: Self.now)
    // Held until here, as a `then` that goes away while a handler is on the stack is not noticed.
    return withExtendedLifetime(resumption) {
      // Called it has been under the lock, since the first handler had returned: the order knows.
      order.transition { order, consequences in
        if isOver { order.endTurn() }
        return order.handlerReturned(.awaited, &consequences)
      }
    }
  }
}
