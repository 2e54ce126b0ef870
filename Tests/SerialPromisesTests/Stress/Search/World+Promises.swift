import Dispatch

@testable import SerialPromises

// Promises, and their work, made from plans.

extension World {
  /// Creates a promise from its plan.
  func promise(_ plan: PromisePlan, of step: Int) -> Promise<Parcel> {
    switch plan {
    case .task(let plan): promise(plan)
    case .asynchronous(let plan): promise(plan)
    case .hot(let plan): promise(plan, of: step)
    case .link(let source, let link): self.link(link, promise(source, of: step), step)
    case .combined(let combinator, let members):
      combined(combinator, members.map { promise($0, of: step) })
    }
  }

  private func promise(_ plan: TaskPlan) -> Promise<Parcel> {
    let work = WorkPiece(plan.piece, self)
    guard plan.isCallback else {
      guard plan.piece % 3 > 0 else {
        return Promise(diagnostics: diagnostics) { @MainActor (deferred: Deferred<Parcel>) throws in
          MainActor.preconditionIsolated()
          try work.begin(plan, deferred)
        }
      }
      return Promise(diagnostics: diagnostics) { (deferred: Deferred<Parcel>) throws in
        try work.begin(plan, deferred)
      }
    }
    return Promise(diagnostics: diagnostics) {
      (
        resolve: @escaping @Sendable (Parcel) -> Void,
        reject: @escaping @Sendable (any Error) -> Void
      ) throws in
      let visit = work.enter()
      work.spin()
      let fulfill: @Sendable () -> Void = { resolve(work.world.parcel()) }
      let fail: @Sendable () -> Void = { reject(work.world.broken()) }
      try work.settle(plan.settling, visit, fulfill, fail)
    }
  }

  private func promise(_ plan: AsyncPlan) -> Promise<Parcel> {
    let work = WorkPiece(plan.piece, self)
    return Promise(diagnostics: diagnostics) { () async throws -> Parcel in
      try await work.perform(plan)
    }
  }

  private func promise(_ plan: HotPlan, of step: Int) -> Promise<Parcel> {
    switch plan {
    case .value: return .value(parcel())
    case .failure: return .failure(broken())
    case .elsewhere, .held, .heldFailure: break
    }
    let deferred = Deferred<Parcel>(diagnostics: diagnostics)
    let settle: @Sendable () -> Void = { [self] in
      if plan == .heldFailure { deferred.fail(broken()) } else { deferred.fulfill(parcel()) }
    }
    if plan == .elsewhere { elsewhere.async(execute: settle) } else { hold(step, settle) }
    return deferred.promise
  }

  private func combined(
    _ combinator: Combinator, _ members: [Promise<Parcel>]
  ) -> Promise<Parcel> {
    let first: @Sendable ([Parcel]) -> Parcel = { $0[0] }
    switch combinator {
    case .all: return when(members).map(first)
    case .concurrently: return when(members, concurrently: 2).map(first)
    case .any:
      return decided(by: members, { if case .value = $0 { true } else { false } }) {
        Promise.any(members)
      }
    case .race: return decided(by: members, { _ in true }) { Promise.race(members) }
    case .resolved:
      let parcel: @Sendable ([Result<Parcel, any Error>]) -> Parcel = { [self] _ in self.parcel() }
      return when(resolved: members).map(parcel)
    }
  }

  /// Combines promises, and checks that one that is settled before that decides, or one before it
  /// in the list; not one after it, which another thread may be settling.
  private func decided(
    by members: [Promise<Parcel>], _ decides: (Outcome) -> Bool, _ combine: () -> Promise<Parcel>
  ) -> Promise<Parcel> {
    let outcome = { (promise: Promise<Parcel>) in promise.core.poll(handlesFailure: false) }
    let index = members.firstIndex { outcome($0).map(decides) ?? false }
    guard let index else { return combine() }
    // So that other threads settle some of the others before, some meanwhile, and some after.
    spin(upTo: 20)
    let result = combine()
    let mayWin = members[...index].compactMap { outcome($0).map(Self.identity) }
    let hasWon = outcome(result).map { mayWin.contains(Self.identity($0)) } ?? false
    if !hasWon { books.withLock { $0.report(.undecided, "input \(index) of \(members.count)") } }
    return result
  }

  /// The object that an outcome has; nil for an error of the library.
  private static func identity(_ outcome: Outcome) -> ObjectIdentifier? {
    switch outcome {
    case .value(let value): (value as? Parcel).map { ObjectIdentifier($0) }
    case .failure(let error): (error as? Broken).map { ObjectIdentifier($0.parcel) }
    }
  }

  private func link(
    _ plan: LinkPlan, _ source: Promise<Parcel>, _ step: Int
  ) -> Promise<Parcel> {
    switch plan {
    case .map(let piece, let place, let fails):
      return map(WorkPiece(piece, self), place, fails, source)
    case .flat(let piece, let inner):
      let work = WorkPiece(piece, self)
      let next: @Sendable (Parcel) throws -> Promise<Parcel> = { _ in
        let visit = work.enter()
        defer { visit.leave() }
        return work.world.promise(inner, of: step)
      }
      return source.then(next)
    case .recover(let piece):
      let work = WorkPiece(piece, self)
      let value: @Sendable (any Error) throws -> Parcel = { _ in
        work.once()
        return work.world.parcel()
      }
      return source.recover(value)
    case .finally(let piece, let isAsynchronous):
      let work = WorkPiece(piece, self)
      guard isAsynchronous else { return source.finally { () throws -> Void in work.once() } }
      return source.finally { () async throws -> Void in
        let visit = work.enter()
        reportProgress(0.5)
        await Task.yield()
        visit.leave()
      }
    case .timeout(let time): return source.timeout(.milliseconds(time), clock: clock)
    case .delay(let time): return source.delay(.milliseconds(time), clock: clock)
    case .retry(let times): return source.retry(times, clock: clock)
    }
  }

  private func map(
    _ work: WorkPiece, _ place: LinkPlan.Place, _ fails: Bool, _ source: Promise<Parcel>
  ) -> Promise<Parcel> {
    let value: @Sendable (Parcel) throws -> Parcel = { _ in
      work.once()
      if fails { throw work.world.broken() }
      return work.world.parcel()
    }
    switch place {
    case .here: return source.map(value)
    case .queue: return source.map(on: elsewhere, value)
    case .asynchronous:
      return source.map { (_: Parcel) async throws -> Parcel in
        let visit = work.enter()
        defer { visit.leave() }
        reportProgress(0.5)
        await Task.yield()
        reportProgress(0.75)
        if fails { throw work.world.broken() }
        return work.world.parcel()
      }
    }
  }
}

extension WorkPiece {
  /// Work that ends when its closure returns.
  func once() {
    let visit = enter()
    spin()
    visit.leave()
  }

  /// The body of an asynchronous promise, or of `run`.
  func perform(_ plan: AsyncPlan) async throws -> Parcel {
    let visit = enter()
    // Recorded before the caller can observe that the body has returned.
    defer { visit.leave() }
    // A report that another work's follows would be a decrease, which is reported as a diagnostic.
    reportProgress(0.25)
    for _ in 0..<plan.yields { await Task.yield() }
    reportProgress(0.75)
    if plan.isHeld {
      let gate = Gate()
      world.hold(step) { gate.open() }
      await withTaskCancellationHandler {
        await world.suspend(piece, at: gate)
      } onCancel: {
        if plan.heedsCancel { gate.open() }
      }
    }
    if plan.heedsCancel { try Task.checkCancellation() }
    spin()
    guard plan.fails else { return world.parcel() }
    if Task.isCancelled, case .run = world.scenario.steps[step].form {
      world.books.withLock { $0.failsAfterCancel(step) }
    }
    throw world.broken()
  }

  /// The body of a promise that a deferred settles.
  fileprivate func begin(_ plan: TaskPlan, _ deferred: Deferred<Parcel>) throws {
    let visit = enter()
    spin()
    reply(plan.reply, deferred, visit)
    let fulfill: @Sendable () -> Void = { deferred.fulfill(self.world.parcel()) }
    let fail: @Sendable () -> Void = { deferred.fail(self.world.broken()) }
    try settle(plan.settling, visit, fulfill, fail)
  }

  /// The owner's reaction to the cancellation of a promise.
  fileprivate func reply(_ reply: Reply, _ deferred: Deferred<Parcel>, _ visit: Visit) {
    switch reply {
    case .none: break
    case .ignores: deferred.onCancel { [self] in spin() }
    case .ends:
      // Weak, so that dropping the deferred elsewhere still abandons the promise.
      deferred.onCancel { [weak deferred] in
        visit.leave()
        deferred?.tryFail(CancellationError())
      }
    }
  }

  /// Settles a promise, or drops the last way to settle it.
  ///
  /// The end of the work is recorded first.
  fileprivate func settle(
    _ settling: Settling, _ visit: Visit, _ fulfill: @escaping @Sendable () -> Void,
    _ fail: @escaping @Sendable () -> Void
  ) throws {
    switch settling {
    case .now: world.end(visit, fulfill)
    case .fails: world.end(visit, fail)
    case .elsewhere: world.elsewhere.async { self.world.end(visit, fulfill) }
    case .failsElsewhere: world.elsewhere.async { self.world.end(visit, fail) }
    case .held: world.hold(step) { self.world.end(visit, fulfill) }
    case .throwing:
      visit.leave()
      throw world.broken()
    case .dropped: visit.leave()
    case .droppedLater:
      world.hold(step) { withExtendedLifetime((fulfill, fail)) { _ = visit.leave() } }
    case .twice:
      world.end(visit, fulfill)
      fulfill()
    }
  }
}

extension World {
  /// Records the end of the work before the call that ends it: the next step may begin inside the
  /// call.
  func end(_ visit: WorkPiece.Visit, _ settle: () -> Void) {
    visit.leave()
    settle()
  }
}
