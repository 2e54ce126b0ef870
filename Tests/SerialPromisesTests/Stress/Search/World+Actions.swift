import Dispatch

@testable import SerialPromises

// The operations of the lanes.

extension World {
  func act(_ action: Action) {
    switch action {
    case .add(let step, let isWatched): add(step, isWatched: isWatched)
    case .cancel(let step): entry(step).handle?.cancel()
    case .cancelPromise(let step): entry(step).promise?.cancel()
    case .cancelGrace(let step):
      entry(step).handle?.cancel(grace: .milliseconds(100), clock: clock)
    case .cancelAll(let number): manager(number)?.cancelAll()
    case .cancelAllGrace(let number):
      manager(number)?.cancelAll(grace: .milliseconds(100), clock: clock)
    case .cancelWaiting(let number): manager(number)?.cancelWaiting()
    case .move(let step, let place): entry(step).handle?.move(to: self.place(place))
    case .pause(let number): manager(number)?.pause()
    case .resume(let number): resume(number)
    case .close(let number): manager(number)?.close()
    case .dropManager(let number): dropManager(number)
    case .dropHandle(let step):
      let last = change(step) { entry in
        if entry.handle != nil { entry.isDropped = true }
        return entry.handle.take()
      }
      withExtendedLifetime(last) {}
    case .dropPromise(let step):
      let last = change(step) { $0.promise.take() }
      withExtendedLifetime(last) {}
    case .cancelTasks(let step): for (task, _) in entry(step).tasks { task.cancel() }
    case .raise(let step, let priority):
      for (task, listener) in entry(step).tasks {
        task.raise(to: TaskPriority(rawValue: priority))
        books.withLock { $0.raised(listener, to: priority) }
      }
    case .release(let step): release(step)
    case .advance(let time): clock.advance(by: .milliseconds(time))
    case .start, .startLink, .listen, .await, .awaitAll, .wait, .awaitOutcome, .awaitIdle,
      .awaitAllIdle:
      demand(action)
    }
  }

  /// Resumes a manager.
  ///
  /// Reports a violation if a cancellation had stopped it.
  func resume(_ number: Int) {
    guard let manager = manager(number) ?? droppedManager(number) else { return }
    if let failure = manager.failure, Ending(failure) == .cancelled {
      books.withLock { $0.report(.policy, "manager \(number) was stopped by \(failure)") }
    }
    manager.resume()
  }

  // MARK: Demands

  /// Demands the outcome of a promise or a step, in one of several ways.
  private func demand(_ action: Action) {
    switch action {
    case .start(let step): entry(step).promise?.start()
    case .startLink(let step):
      guard let promise = entry(step).promise else { return }
      let pass: @Sendable (Parcel) -> Parcel = { $0 }
      listen(step, "a link that was started", promise.map(pass)).start()
    case .listen(let step):
      if let promise = entry(step).promise { listen(step, "a callback", promise) }
    case .await(let step): awaitValue(step)
    case .awaitAll(let steps): awaitAll(steps)
    case .wait(let step, let isLimited): wait(step, isLimited)
    case .awaitOutcome(let step):
      let entry = entry(step)
      guard let handle = entry.handle else { return }
      change(step) { $0.isRead = true }
      let listener = expect(step, "an awaited outcome", .outcome)
      Task(priority: priority(step)) { [self] in
        _ = await handle.outcome
        checkCancellation(step, entry)
        notify(listener, nil)
      }
    case .awaitIdle(let step):
      let number = scenario.steps[step].manager
      guard let manager = manager(number) else { return }
      let listener = expect(step, "a task that awaits the idle manager", .idle)
      Task(priority: priority(step)) { [self] in
        await manager.idle()
        for (step, plan) in scenario.steps.enumerated() where plan.manager == number {
          checkCancellation(step, entry(step))
        }
        notify(listener, nil)
      }
    case .awaitAllIdle(let step):
      guard let keys = keys.withLock({ $0 }) else { return }
      let listener = expect(step, "a task that awaits that all keys are idle", .allIdle)
      Task(priority: priority(step)) { [self] in
        let pauses = books.withLock { $0.pausesIfBusy }
        await keys.idle()
        books.withLock { $0.foundIdle(since: pauses) }
        notify(listener, nil)
      }
    default: break
    }
  }

  /// Checks that the promise of a step has failed, if the step is canceled.
  func checkCancellation(_ step: Int, _ entry: Entry) {
    guard let promise = entry.promise, case .over(.cancelled)? = entry.handle?.state,
      case .pending = promise.state
    else { return }
    books.withLock { $0.isPending(step) }
  }

  private func expect(_ step: Int, _ name: String, _ wait: Books.Wait? = nil) -> Int {
    books.withLock { $0.expect(step, name, wait) }
  }

  /// The priority of a task that waits for a step.
  private func priority(_ step: Int) -> TaskPriority {
    TaskPriority(rawValue: scenario.steps[step].priority)
  }

  private func notify(_ listener: Int, _ ending: Ending?) {
    books.withLock { $0.notified(listener, ending) }
  }

  @discardableResult
  private func listen(
    _ step: Int, _ name: String, _ promise: Promise<Parcel>
  ) -> Promise<Parcel> {
    let listener = expect(step, name)
    return
      promise
      .fulfilled { [self] _ in notify(listener, .succeeded) }
      .failed { [self] error in notify(listener, Ending(error)) }
  }

  private func awaitValue(_ step: Int) {
    guard let promise = entry(step).promise else { return }
    let listener = expect(step, "an awaiting task", .values([step]))
    let task = Task(priority: priority(step)) { [self] in
      do {
        _ = try await promise.value
        notify(listener, .succeeded)
      } catch {
        // The cancellation may be that of the task, not of the promise.
        notify(listener, error is CancellationError ? nil : Ending(error))
      }
    }
    change(step) { $0.tasks.append((task, listener)) }
  }

  private func awaitAll(_ steps: [Int]) {
    let known = steps.compactMap { step in entry(step).promise.map { (step: step, promise: $0) } }
    guard let first = steps.first, !known.isEmpty else { return }
    let listener = expect(first, "a task that awaits several", .values(known.map(\.step)))
    let all = when(known.map(\.promise))
    Task(priority: priority(first)) { [self] in
      _ = try? await all.value
      notify(listener, nil)
    }
  }

  private func wait(_ step: Int, _ isLimited: Bool) {
    guard let promise = entry(step).promise else { return }
    let listener = expect(step, "a thread that waits")
    onOwnThread { [self] in
      do {
        _ = try promise.wait(timeout: isLimited ? .milliseconds(1) : nil)
        notify(listener, .succeeded)
      } catch {
        notify(listener, isLimited ? nil : Ending(error))
      }
    }
  }

  // MARK: Adding

  private func add(_ number: Int, isWatched: Bool) {
    let plan = scenario.steps[number]
    guard let manager = manager(plan.manager) else { return }
    let place = plan.place.map(place) ?? .last
    switch plan.form {
    case .closure(let closure, let modifiers):
      add(number, step(closure, modifiers), nil, to: manager)
    case .run(let plan): run(number, plan, on: manager, at: place, isTurn: false)
    case .turn(let plan): run(number, plan, on: manager, at: place, isTurn: true)
    case .promise(let promisePlan, let handing):
      let promise = promise(promisePlan, of: number)
      if handing == .limited {
        // The manager gets a step made from the promise, without access to the promise itself. So
        // no listener is attached, and no other operation may start it.
        let step = (promise as any Promisable).timeout(.milliseconds(200), clock: clock)
        return add(number, step, nil, to: manager)
      }
      if isWatched { listen(number, "a callback attached before", promise) }
      expectFailure(promise, plan)
      if handing == .begun { promise.start() }
      add(number, promise, promise, to: manager)
    case .shared(let other):
      guard let promise = entry(other).promise else { return }
      if isWatched { listen(number, "a callback attached before", promise) }
      added(number, manager.add(promise, at: place), promise)
    case .serially(let members): addSerially(number, members, to: manager)
    case .member: break
    }
  }

  /// Handles the failure of a hot promise.
  ///
  /// If its step is canceled while it waits, nothing else handles the failure, and a report would
  /// be correct.
  private func expectFailure(_ promise: Promise<Parcel>, _ plan: StepPlan) {
    if plan.isHot { promise.failed { _ in } }
  }

  private func place(_ plan: PlacePlan) -> StepPlace {
    switch plan {
    case .first: .first
    case .last: .last
    case .before(let step): entry(step).handle.map { .before($0) } ?? .first
    case .replacing(let step): entry(step).handle.map { .replacing($0) } ?? .last
    }
  }

  private func add(
    _ number: Int, _ step: some Promisable, _ promise: Promise<Parcel>?,
    to manager: PromiseManager
  ) {
    let plan = scenario.steps[number]
    if let place = plan.place {
      return added(number, manager.add(step, at: self.place(place)), promise)
    }
    guard plan.waitsForRoom else { return added(number, manager.add(step), promise) }
    let listener = expect(number, "a task that waits for room", .room)
    let task = Task(priority: priority(number)) { [self] in
      // A step that was canceled before there was room counts as refused.
      added(number, try? await manager.addWhenRoom(step), promise)
      notify(listener, nil)
    }
    change(number) { $0.tasks.append((task, listener)) }
  }

  /// Stores the handle of a step: nil, or with the number 0, if the step was refused.
  private func added(
    _ number: Int, _ handle: StepHandle?, _ promise: Promise<Parcel>?
  ) {
    // Its state is not read: that would mark a failure as received.
    let isRefused = (handle?.id ?? 0) == 0
    change(number) { entry in
      entry.isAdded = true
      entry.isRefused = isRefused
      entry.handle = isRefused ? nil : handle
      entry.id = isRefused ? nil : handle?.id
      entry.promise = promise
    }
    // Otherwise its listeners would never be called.
    if isRefused { promise?.failed { _ in }.start() }
  }

  private func run(
    _ number: Int, _ plan: AsyncPlan, on manager: PromiseManager, at place: StepPlace, isTurn: Bool
  ) {
    let listener = expect(number, "a task that awaits run or a turn", .end)
    let work = WorkPiece(plan.piece, self)
    let actor: (any Actor)? =
      switch plan.piece % 3 {
      case 0: MainActor.shared
      case 1: Elsewhere.shared
      default: nil
      }
    let task = Task(priority: priority(number)) { [self] in
      await Caller.$step.withValue(number) {
        do {
          try await work.run(plan, on: manager, at: place, isTurn: isTurn, actor)
          notify(listener, .succeeded)
        } catch {
          switch error {
          case PromiseError.closed, PromiseError.full: change(number) { $0.isRefused = true }
          case PromiseError.stillWaiting: books.withLock { $0.gaveUp(number) }
          default: break
          }
          notify(listener, Ending(error))
        }
      }
    }
    change(number) { entry in
      entry.isAdded = true
      entry.tasks.append((task, listener))
    }
  }

  private func addSerially(_ number: Int, _ members: [Int], to manager: PromiseManager) {
    let promises = members.map { member -> Promise<Parcel> in
      guard case .member(let plan) = scenario.steps[member].form else {
        preconditionFailure("a member has a promise")
      }
      let promise = promise(plan, of: member)
      expectFailure(promise, scenario.steps[member])
      return listen(member, "a callback attached before", promise)
    }
    let first: @Sendable ([Parcel]) -> Parcel = { $0[0] }
    let all = manager.serially(promises).map(first)
    listen(number, "a callback of serially", all)
    // If the manager was closed afterwards, accepted steps count as refused: the oracle is lenient.
    let isClosed = manager.isClosed
    for (member, promise) in zip(members, promises) {
      change(member) { entry in
        entry.isAdded = true
        entry.isRefused = isClosed
        entry.promise = promise
      }
      if isClosed { promise.start() }
    }
    change(number) { entry in
      entry.isAdded = true
      entry.isRefused = isClosed
      entry.promise = all
    }
  }
}

extension World {
  fileprivate func step(_ plan: ClosurePlan, _ modifiers: Modifiers) -> Step {
    let work = WorkPiece(plan.piece, self)
    let name = modifiers.isNamed ? "named" : nil
    let step =
      switch plan.piece % 3 {
      case 0:
        Step(name) { @MainActor then in
          MainActor.preconditionIsolated()
          work.handle(then, plan.ending)
        }
      case 1:
        Step(name) { @Elsewhere then in
          Elsewhere.shared.preconditionIsolated()
          work.handle(then, plan.ending)
        }
      default: Step(name) { then in work.handle(then, plan.ending) }
      }
    guard let timeout = modifiers.timeout else { return step }
    return step.timeout(
      .milliseconds(timeout.milliseconds), abandoning: timeout.isAbandoning, clock: clock)
  }
}

extension WorkPiece {
  /// Runs code of an actor, which may be busy, as a turn or as the work of `run`.
  fileprivate func run(
    _ plan: AsyncPlan, on manager: PromiseManager, at place: StepPlace, isTurn: Bool,
    _ isolation: isolated (any Actor)?
  ) async throws {
    let stepPlan = world.scenario.steps[step]
    let patience = stepPlan.patience.map { Duration.milliseconds($0) }
    if stepPlan.isOnlyIfAvailable {
      let result = try await manager.withTurnIfAvailable { try await perform(plan) }
      if result != nil { return }
      throw PromiseError.stillWaiting(.zero, for: nil)
    } else if isTurn {
      _ = try await manager.withTurn(at: place, waitingAtMost: patience) { try await perform(plan) }
    } else {
      _ = try await manager.run(at: place, waitingAtMost: patience) {
        // Captured, so that this closure has its isolation.
        _ = isolation
        return try await self.perform(plan)
      }
    }
  }

  /// The handler of a closure step.
  fileprivate func handle(_ then: Then, _ ending: ClosureEnding) {
    // The step has not ended while its handler is on the stack, even if `then` was called.
    let body = enter()
    defer { body.leave() }
    let visit = enterAgain()
    spin()
    switch ending {
    case .now: world.end(visit) { then() }
    case .fails: fail(visit, then)
    case .elsewhere: world.elsewhere.async { self.world.end(visit) { then() } }
    case .failsElsewhere:
      world.elsewhere.async { self.fail(visit, then) }
    case .held: world.hold(step) { self.world.end(visit) { then() } }
    case .twice:
      world.end(visit) { then() }
      then()
    case .dropped: visit.leave()
    case .droppedLater: world.hold(step) { withExtendedLifetime(then) { _ = visit.leave() } }
    case .heedsCancel:
      then.onCancel { if visit.leave() { then(CancellationError()) } }
      world.hold(step) { if visit.leave() { then() } }
    }
  }

  private func fail(_ visit: Visit, _ then: Then) {
    world.end(visit) {
      if then.isCancelled { world.books.withLock { $0.failsAfterCancel(step) } }
      then(world.broken())
    }
  }
}
