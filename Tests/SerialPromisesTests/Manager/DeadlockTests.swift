import TestSupport
import Testing

@testable import SerialPromises

/// A step that waits for its own manager gets an error.
///
/// Each test hangs if the deadlock is not detected.
struct DeadlockTests {
  private let step = StepIdentity(id: 1, name: "outer")
  private let reports = Reports()
  private let manager: PromiseManager

  init() { manager = PromiseManager(diagnostics: reports.place) }

  // Hangs if `outcome` does not check which step its caller is in.
  @Test(
    "a step that awaits the outcome of a later step gets a failure, which is reported",
    .shows(Managing.deadlock))
  func outcome() async throws {
    let later = try await manager.run("outer") {
      let later = manager.add { then in then() }
      #expect(text(await later.outcome) == "failed \(PromiseError.deadlock(step))")
      return later
    }
    #expect(text(await later.outcome) == "succeeded")
    #expect(reports.all == [.deadlock(step)])
  }

  // Fails if known outcomes are withheld.
  @Test("a step may read the outcome of an earlier one")
  func earlierOutcome() async throws {
    let earlier = manager.add { then in then() }
    try await manager.run { #expect(text(await earlier.outcome) == "succeeded") }
    #expect(reports.all.isEmpty)
  }

  // Hangs if the thread of the handler is not recorded or not compared.
  @Test(
    "waitUntilIdle in a handler throws, before and after then", .shows(Managing.deadlock),
    .shows(Promising.typedErrors))
  func blocking() {
    manager.add(
      Step("outer") { then in
        #expect(throws: PromiseError.deadlock(step)) { try manager.waitUntilIdle() }
        then()
        #expect(throws: PromiseError.deadlock(step)) { try manager.waitUntilIdle() }
      })
    #expect(throws: Never.self) { try manager.waitUntilIdle() }
  }

  // Hangs if only the innermost handler of a thread is registered.
  @Test("waitUntilIdle throws in a handler of another manager that runs inside a handler")
  func nested() {
    let (outer, inner) = (PromiseManager(), PromiseManager())
    outer.add(
      Step("outer") { then in
        inner.add { innerThen in
          #expect(throws: PromiseError.deadlock(step)) { try outer.waitUntilIdle() }
          innerThen()
        }
        then()
      })
  }

  // Fails if the mark is not a task-local value, which a detached task does not inherit, or is
  // still valid after its step's end.
  @Test(
    "a task that is detached, or outlives its step, may wait for the manager",
    arguments: [true, false])
  func otherTasks(isDetached: Bool) async throws {
    let gate = Gate()
    let wait = { @Sendable [manager] in
      await gate.passed()
      await manager.idle()
      return try await manager.run { 5 }
    }
    let waiter = try await manager.run {
      if isDetached { gate.open() }
      return isDetached ? Task.detached { try await wait() } : Task { try await wait() }
    }
    await manager.idle()
    gate.open()
    #expect(try await waiter.value == 5)
    #expect(reports.all.isEmpty)
  }

  // Hangs if `addWhenRoom` waits for room that only the end of its own step can make.
  @Test(
    "addWhenRoom in a step throws if there is no room, and adds if there is",
    .shows(Managing.deadlock))
  func room() async throws {
    let (manager, log) = (PromiseManager(capacity: 1), Log<String>())
    try await manager.run("outer") {
      try await manager.addWhenRoom(nil, log.appending("added"))
      await #expect(throws: PromiseError.deadlock(step)) {
        try await manager.addWhenRoom { then in then() }
      }
    }
    await manager.idle()
    #expect(log.all == ["added"])
  }

  // Fails if the mark is that of the thread that runs the step, and not of the caller that added
  // it.
  @Test("a step is not marked as part of the step that ran before it")
  func notWaiting() async throws {
    let (first, second) = (PromiseManager(), PromiseManager())
    let (code, end, done) = (HeldCode(), Gate(), Gate())
    let holder = Task {
      try await second.run {
        try await first.run { await code() }
        await end.passed()
      }
    }
    await code.begun.passed()
    let stranger = Task {
      defer { done.open() }
      return try await first.run { try await second.run { 42 } }
    }
    await first.waiting(1)
    code.proceed.open()
    while second.waitingCount == 0 && !done.isOpen { await Task.yield() }
    end.open()
    #expect(try await stranger.value == 42)
    try await holder.value
  }

  enum Place: String, CaseIterable {
    case work, asyncMap, asyncThen, mainActor, finally, recover, returned, secondAttempt
    case laterAttempt, secondPulled, delayed, timeout
  }

  // Hangs if only work that begins with the turn is marked with its step.
  @Test(
    "idle anywhere in the work of a promise that is a step is reported", .shows(Managing.deadlock),
    arguments: Place.allCases)
  func promiseWork(_ place: Place) async {
    let attempts = Locked(0)
    let idle = { @Sendable [manager] (value: Int) in
      await manager.idle()
      return value
    }
    let attempt = Promise<Int>(diagnostics: .silent) {
      guard attempts.next() == 2 else { throw Failed() }
      return await idle(1)
    }
    let promise: Promise<Int> =
      switch place {
      case .work: Promise { await idle(1) }
      case .asyncMap: Promise { 1 }.map { await idle($0) }
      case .asyncThen: Promise { 1 }.then { Promise.value(await idle($0)) }
      case .mainActor: Promise { 1 }.map { @MainActor in await idle($0) }
      case .finally: Promise { 1 }.finally { _ = await idle(1) }
      case .recover: Promise<Int> { throw Failed() }.recover { _ in await idle(1) }
      case .returned: Promise { 1 }.then { value in Promise { await idle(value) } }
      case .secondAttempt: attempt.retry(2)
      case .laterAttempt: attempt.retry(2, delay: .milliseconds(1))
      case .secondPulled:
        when(
          [false, true].lazy.map { waits in Promise { waits ? await idle(1) : 1 } }, concurrently: 1
        )
        .map { $0[1] }
      case .delayed: Promise { 1 }.delay(.milliseconds(1)).map { await idle($0) }
      case .timeout: Promise { 1 }.map { await idle($0) }.timeout(.seconds(3600))
      }
    let handle = manager.add(promise)
    #expect(text(await handle.outcome) == "succeeded")
    // The report names the promise at the beginning of the chain.
    let name = place == .secondPulled ? "when(concurrently:)" : nil
    #expect(reports.all == [.deadlock(StepIdentity(id: 1, name: name))])
  }

  // Fails if the delay begins before the promise is bound to the next attempt: a short one can then
  // be over first, so that the attempt is not marked, and waits forever for its own step. Seen by
  // the clock, because that race is rarely lost.
  @Test("idle in a later attempt is reported however short the delay before it is")
  func shortDelay() async {
    let attempts = Locked(0)
    let attempt = Promise<Void>(diagnostics: .silent) { [manager] in
      if attempts.next() == 1 { throw Failed() }
      await manager.idle()
    }
    let core = Locked<Core?>(nil)
    let isBound = Locked<[Bool]>([])
    let clock = ClosureClock {
      let bound = core.withLock { $0 }?.withLock { $0.isBound } ?? false
      isBound.withLock { $0.append(bound) }
      return .now
    }
    let promise = attempt.retry(1, delay: .nanoseconds(1), clock: clock)
    core.withLock { $0 = promise.core }
    #expect(text(await manager.add(promise).outcome) == "succeeded")
    #expect(isBound.withLock { $0 } == [true])
    #expect(reports.all == [.deadlock(StepIdentity(id: 1, name: nil))])
  }

  // Hangs if synchronous handlers are not marked.
  @Test("a handler of a step's promise that blocks until its manager is idle throws")
  func blockingHandler() async {
    let step = StepIdentity(id: 1, name: nil)
    let handle = manager.add(
      Promise { 1 }.map { _ in
        #expect(throws: PromiseError.deadlock(step)) { try manager.waitUntilIdle() }
        #expect(throws: PromiseError.deadlock(step)) { try manager.enqueue { 4 }.wait() }
      })
    #expect(text(await handle.outcome) == "succeeded")
  }
}
