import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// A promise that waits in a manager begins in its turn.
struct PromiseTurnTests {
  /// Ways to demand a promise's value.
  enum Demand: String, CaseIterable, Sendable {
    case start, await, wait, chain, when, race, relay, anotherManager

    func make(_ promise: Promise<Int>) {
      switch self {
      case .start: promise.start()
      case .await: Task { try await promise.value }
      case .wait: DispatchQueue.global().async { _ = try? promise.wait() }
      case .chain: promise.map { $0 + 1 }.start()
      case .when: SerialPromises.when([promise, .value(1)]).start()
      case .race: Promise.race([promise, promise]).start()
      case .relay: promise.relay(to: Deferred<Int>())
      case .anotherManager: PromiseManager().add(promise.map { $0 })
      }
    }
  }

  // Fails if a demand begins a promise that waits in a manager: 2 then comes before 1.
  @Test(
    "a promise that waits in a manager begins in its turn, regardless of demand",
    .shows(Managing.turns), arguments: Demand.allCases)
  func demanded(_ demand: Demand) async {
    let (manager, log, taken) = (PromiseManager(), Log<Int>(), Taken())
    manager.add(taken.handler)
    let promise = Promise<Int> {
      log.append(2)
      return 2
    }
    let handle = manager.add(promise)
    demand.make(promise)
    // Any work that the demand started has begun by now.
    await promise.settles(after: taken, log)
    #expect(log.all == [1, 2])
    #expect(text(await handle.outcome) == "succeeded")
  }

  // Fails if `serially` lets a demand start its promises, runs two at the same time, or in another
  // order.
  @Test(
    "the promises of serially run one at a time, each in its turn, regardless of demand",
    .shows(Managing.turns), .shows(Promising.serially))
  func members() async throws {
    let (manager, log) = (PromiseManager(), Log<Int>())
    let promises = (0..<10).map { number in
      Promise<Int> {
        log.append(number)
        await Task.yield()
        log.append(number)
        return number
      }
    }
    let all = manager.serially(promises)
    #expect(try await promises[9].value == 9)
    #expect(try await when(promises).value == Array(0..<10))
    #expect(log.all == (0..<10).flatMap { [$0, $0] })
    #expect(try await all.value == Array(0..<10))
    #expect(await manager.serially([Promise<Int>]()).outcome == "[]")
  }

  // Fails if a started promise is started again, or its step ends before it is settled.
  @Test("a promise that began before it was added is only awaited", .shows(Managing.turns))
  func begun() async {
    let (manager, log, code) = (PromiseManager(), Log<Int>(), HeldCode())
    let promise = Promise<Int> {
      log.append(1)
      await code()
      return 1
    }.start()
    await code.begun.passed()
    let taken = manager.hold()
    let handle = manager.add(promise)
    taken.call()
    #expect(text(handle.state) == "running")
    code.proceed.open()
    #expect(text(await handle.outcome) == "succeeded")
    #expect(log.all == [1])
  }

  // Hangs if a chain waits for a promise whose turn comes after its own, or if a demand in the turn
  // stops at a link that was demanded before.
  @Test(
    "a chain begins its source in its own turn, even if the source waits behind it",
    .shows(Managing.turns), arguments: [false, true])
  func sourceBehind(isLinkDemanded: Bool) async {
    let (manager, log) = (PromiseManager(), Log<String>())
    manager.pause()
    let source = Promise<Int> {
      log.append("source")
      return 1
    }
    let link = source.map { $0 + 1 }
    let chain = manager.add(link.tap { _ in log.append("chain") })
    let handle = manager.add(source)
    if isLinkDemanded { link.start() }
    manager.resume()
    #expect(text(await chain.outcome) == "succeeded")
    #expect(text(await handle.outcome) == "succeeded")
    #expect(log.all == ["source", "chain"])
  }

  // Fails if a handler runs when its source is settled although its promise waits for its turn.
  @Test(
    "chains on the same promise run their handlers each in its own turn", .shows(Managing.turns),
    arguments: [false, true])
  func siblings(isStartedElsewhere: Bool) async {
    let (manager, log, taken) = (PromiseManager(), Log<String>(), Taken())
    manager.add(taken.handler)
    let source = Promise<Int> { 1 }
    let work = { @Sendable (name: String, number: Int) in
      log.append("\(name) begins")
      for _ in 0..<20 { await Task.yield() }
      log.append("\(name) ends")
      return number
    }
    manager.add(source.map { number async in await work("a", number) })
    manager.add(
      source.map { number in
        log.append("b")
        return number
      })
    let cancelled = source.finally { log.append("cleaned up") }
    let handle = manager.add(cancelled)
    manager.add(source.map { number async in await work("c", number) })
    if isStartedElsewhere {
      source.start()
      await source.waitForHandlers()
      await Promise.value(0).waitForHandlers()
      #expect(log.all.isEmpty)
    }
    taken.call()
    handle.cancel()
    await manager.idle()
    await cancelled.waitForHandlers()
    let order = log.all.filter { $0 != "cleaned up" }
    #expect(order == ["a begins", "a ends", "b", "c begins", "c ends"])
    #expect(log.all.filter { $0 == "cleaned up" }.count == 1)
  }

  // Hangs if the self-dependency is not detected.
  @Test(
    "a step that waits for a promise behind it in its own manager gets an error",
    .shows(Managing.deadlock))
  func deadlock() async throws {
    let (manager, log) = (PromiseManager(), Log<String>())
    let promise = Promise<Int> { 1 }
    let chain = promise.map { $0 + 1 }
    manager.add { then in
      manager.add(promise)
      for promise in [promise, chain] {
        do { _ = try promise.wait() } catch { log.append("\(error)") }
      }
      then()
    }
    #expect(try await promise.value == 1)
    let later = Promise<Int> { 1 }
    let error = await #expect(throws: PromiseError.self) {
      try await manager.run {
        manager.add(later)
        return try await when([later.map { $0 }, .value(1)]).value
      }
    }
    #expect("\(error, default: "none")".contains("waits for its own manager"))
    #expect(log.count == 2)
    #expect(log.all.allSatisfy { $0.contains("waits for its own manager") })
    #expect(try await later.value == 1)
  }
}

extension Promise {
  /// Lets the manager's first step end, and waits for the promise.
  fileprivate func settles(after taken: Taken, _ log: Log<Int>) async {
    // Each kind of demand has a task and a thread: both must have ended.
    await Task { await Task.yield() }.value
    let gate = Gate()
    DispatchQueue.global().async { gate.open() }
    await gate.passed()
    log.append(1)
    taken.call()
    await waitForHandlers()
  }
}

/// Promises that are canceled while their steps wait.
struct CancelledPromiseTurnTests {
  /// Ways to cancel the promise.
  enum Way: String, CaseIterable, Sendable {
    case handle, promise, derived, cancelAll, grace, policy, dissolve
  }

  // Fails if the promise stays pending, begins, keeps its place in the queue, or counts as a
  // failure for the policy.
  @Test(
    "a promise canceled while it waits never begins, notifies its listeners, and is not a failure",
    .shows(Managing.cancelledPromise), arguments: Way.allCases)
  func waiting(_ way: Way) async {
    let (log, taken, notified) = (Log<String>(), Taken(), Gate())
    var manager: PromiseManager? = PromiseManager(
      onFailure: way == .policy ? .cancelRest : .stop, diagnostics: .silent)
    if way == .dissolve { manager?.pause() } else { manager?.add(taken.handler) }
    let promise = Promise<Int> {
      log.append("begun")
      return 1
    }
    let step = way == .derived ? promise.map { $0 } : promise
    step.failed { error in
      log.append("\(error)")
      notified.open()
    }
    let handle = manager?.add(step)
    let awaiting = Task { try await step.value }
    switch way {
    case .handle: handle?.cancel()
    case .promise, .derived: step.cancel()
    case .cancelAll: manager?.cancelAll()
    case .grace: handle?.cancel(grace: .seconds(3600))
    case .policy: taken.call(Failed())
    case .dissolve: manager = nil
    }
    // Canceled at once, not when its turn comes.
    #expect(handle.map { text($0.state) } == "cancelled")
    #expect(manager?.waitingCount ?? 0 == 0)
    #expect(text(step.state) == "failed CancellationError()")
    await notified.passed()
    await #expect(throws: CancellationError.self) { try await awaiting.value }
    taken.call()
    await manager?.idle()
    #expect(manager?.failure == nil)
    #expect(log.all == ["CancellationError()"])
  }

  // Fails if a promise that has been canceled is added as a waiting step, or as a failure.
  @Test("a promise that was canceled before it is added is a canceled step")
  func before() async {
    let manager = PromiseManager(onFailure: .stop)
    let promise = Promise<Int> { 1 }
    promise.cancel()
    #expect(text(await manager.add(promise).outcome) == "cancelled")
    #expect(manager.failure == nil)
  }
}
