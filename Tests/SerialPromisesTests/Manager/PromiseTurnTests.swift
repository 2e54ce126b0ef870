import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// A promise that waits in a manager begins in its turn.
struct PromiseTurnTests {
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
    let (manager, promise, later) = (PromiseManager(), Promise<Int> { 1 }, Promise<Int> { 1 })
    let chain = promise.map { $0 + 1 }
    let handle = manager.add("blocks") { then in
      manager.add(promise)
      let error = PromiseError.deadlock(StepIdentity(id: 1, name: "blocks"))
      for promise in [promise, chain] { #expect(throws: error) { try promise.wait() } }
      then()
    }
    #expect(text(await handle.outcome) == "succeeded")
    #expect(try await promise.value == 1)
    await #expect(throws: PromiseError.deadlock(StepIdentity(id: 3, name: "awaits"))) {
      try await manager.run("awaits") {
        manager.add(later)
        return try await when([later.map { $0 }, .value(1)]).value
      }
    }
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
  /// How a promise becomes a step that waits.
  enum Kind: String, CaseIterable, Sendable {
    case added, derived, enqueued, waitsForRoom

    fileprivate var ways: [Way] {
      switch self {
      case .added, .derived: Way.allCases.filter { $0 != .task }
      case .enqueued: [.promise, .cancelAll, .policy, .dissolve]
      case .waitsForRoom: [.promise, .cancelAll, .policy, .task]
      }
    }
  }

  /// Ways to cancel the promise.
  enum Way: String, CaseIterable, Sendable {
    case before, handle, promise, cancelAll, grace, policy, dissolve, task
  }

  // Fails if the promise stays pending, begins, keeps its place in the queue, or counts as a
  // failure for the policy; if a promise that has been canceled is added as a waiting step, or as a
  // failure.
  @Test(
    "a promise canceled while it waits never begins, notifies its listeners, and is not a failure",
    .shows(Managing.cancelledPromise), arguments: Kind.allCases)
  func waiting(_ kind: Kind) async {
    for way in kind.ways {
      let (log, taken, notified) = (Log<String>(), Taken(), Gate())
      let reports = Reports()
      var manager: PromiseManager? = PromiseManager(
        onFailure: way == .policy ? .cancelRest : .stop,
        capacity: kind == .waitsForRoom ? 1 : nil, diagnostics: reports.place)
      if way == .dissolve { manager?.pause() } else { manager?.add(taken.handler) }
      let body = { @Sendable in
        log.append("begun")
        return 1
      }
      let promise = kind == .enqueued ? manager?.enqueue(body) ?? .value(0) : Promise(nil, body)
      let step = kind == .derived ? promise.map { $0 } : promise
      step.failed { error in
        log.append("\(error)")
        notified.open()
      }
      if way == .before { step.cancel() }
      var (handle, adder) = (nil as StepHandle?, nil as Task<StepHandle?, any Error>?)
      switch kind {
      case .added, .derived: handle = manager?.add(step)
      case .enqueued: break
      case .waitsForRoom:
        manager?.add { then in then() }
        adder = Task { [manager] in try await manager?.addWhenRoom(step) }
        await manager?.waiting(2)
      }
      let awaiting = Task { try await step.value }
      switch way {
      case .before: break
      case .handle: handle?.cancel()
      case .promise: step.cancel()
      case .cancelAll: manager?.cancelAll()
      case .grace: handle?.cancel(grace: .seconds(3600))
      case .policy: taken.call(Failed())
      case .dissolve: manager = nil
      case .task: adder?.cancel()
      }
      if let adder { await #expect(throws: CancellationError.self) { try await adder.value } }
      // Canceled at once, not when its turn comes.
      #expect(handle.map { text($0.state) } ?? "cancelled" == "cancelled")
      let isOtherLeft = kind == .waitsForRoom && (way == .promise || way == .task)
      #expect(manager?.waitingCount ?? 0 == (isOtherLeft ? 1 : 0), "\(way)")
      #expect(text(step.state) == "failed CancellationError()", "\(way)")
      await notified.passed()
      await #expect(throws: CancellationError.self) { try await awaiting.value }
      taken.call()
      await manager?.idle()
      #expect(manager?.failure == nil)
      #expect(log.all == ["CancellationError()"], "\(way)")
      #expect(reports.all.isEmpty || way == .policy, "\(way)")
    }
  }
}
