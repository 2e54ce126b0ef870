import Dispatch
import Foundation
import TestSupport
import Testing

@testable import SerialPromises

private let mainKey: DispatchSpecificKey<Bool> = {
  let key = DispatchSpecificKey<Bool>()
  DispatchQueue.main.setSpecific(key: key, value: true)
  return key
}()

/// Whether the caller is on the main queue, which is that of the main actor.
func onMainActor() -> Bool { DispatchQueue.getSpecific(key: mainKey) == true }

/// Queues and actors of a chain's handlers.
struct WhereChainsRunTests {
  private let key = DispatchSpecificKey<String>()
  private let queue = DispatchQueue(label: "chain")

  init() {
    queue.setSpecific(key: key, value: "queue")
  }

  private func place() -> String { DispatchQueue.getSpecific(key: key) ?? "elsewhere" }

  // Fails if a method ignores its queue, or one without a queue runs on it.
  @Test(
    "on: sets the queue of that handler only", .shows(Promising.whereHandlersRun),
    arguments: Moment.allCases)
  func queues(_ moment: Moment) async {
    let log = Log<String>()
    let here = { @Sendable [self] (name: String) in log.append("\(name) \(place())") }
    let promise = moment.settling(.success(1)) { promise in
      promise
        .then(on: queue) { _ in
          here("then")
          return Promise.value(1)
        }
        .map(on: queue) { _ in here("map") }
        .finally(on: queue) { here("finally") }
        .map { here("free") }
    }
    await promise.waitForHandlers()
    queue.sync {}
    #expect(log.all == ["then queue", "map queue", "finally queue", "free elsewhere"])
  }

  // Hangs if the task of such a handler starts on a thread of the cooperative pool.
  @Test(
    "a synchronous handler of finally that blocks does not hold the threads that tasks run on",
    .enabled(if: tasksStartHere))
  func blockingFinally() async {
    let (begun, gate) = (Log<Int>(), Gate())
    let count = ProcessInfo.processInfo.activeProcessorCount
    let promises = (0..<count).map { index in
      Promise.value(index).finally {
        begun.append(index)
        gate.block()
      }
    }
    // Returns only if tasks still run.
    await Task.detached {
      while begun.all.count < count { await Task.yield() }
      gate.open()
    }.value
    for (index, promise) in promises.enumerated() { #expect(await promise.outcome == "\(index)") }
  }

  // Fails if handlers for one queue are dispatched by several threads, or outside the promise's
  // order.
  @Test("handlers on one queue are called in the order of attachment")
  func orderOnQueue() async {
    for _ in 0..<(isLong ? 10_000 : 500) {
      let (log, deferred) = (Log<Int>(), Deferred<Int>())
      let settler = Gate()
      onOwnThread {
        deferred.fulfill(1)
        settler.open()
      }
      for index in 0..<20 { deferred.promise.finally(on: queue) { log.append(index) } }
      await settler.passed()
      await deferred.promise.waitForHandlers()
      queue.sync {}
      #expect(log.all == Array(0..<20))
    }
  }

  // Hangs if a handler waits for an earlier one on another, busy queue.
  @Test("a busy queue delays its own handlers only")
  func busyQueue() async {
    let (log, gate, done) = (Log<String>(), Gate(), Gate())
    queue.async { gate.block() }
    let promise = Promise.value(1)
    promise.finally(on: queue) { log.append("first, on the queue") }
    promise.fulfilled { _ in
      log.append("second")
      gate.open()
    }
    promise.finally(on: queue) {
      log.append("third, on the queue")
      done.open()
    }
    await done.passed()
    #expect(log.all == ["second", "first, on the queue", "third, on the queue"])
  }

  // Fails if progress reaches the main actor after the outcome, because it is dispatched outside the
  // promise's order.
  @Test("on the main actor, progress is reported before the outcome")
  func progressOnMain() async {
    for _ in 0..<100 {
      let (log, deferred) = (Log<String>(), Deferred<Int>())
      deferred.promise
        .fulfilled { @MainActor _ in log.append("fulfilled") }
        .progressed { @MainActor in log.append("\($0)") }
      deferred.progress(0.5)
      deferred.fulfill(1)
      await deferred.promise.waitForHandlers()
      await MainActor.run {}
      #expect(log.all == ["0.5", "1.0", "fulfilled"])
    }
  }

  // Traps if a main-actor closure runs elsewhere; fails if a plain closure runs on the main actor.
  @Test(
    "main-actor closures run on the main actor, others do not", .shows(Promising.whereHandlersRun))
  func mainActor() async {
    let log = Log<String>()
    let here = { @Sendable (name: String) in
      log.append("\(name) \(onMainActor() ? "main" : "other")")
    }
    let first = Promise.value(1)
      .then { @MainActor _ in
        here("then")
        return Promise.value(1)
      }
    let looks = first.map { @MainActor _ in here("map") }
      .tap { @MainActor _ in here("tap") }
      .finally { @MainActor in here("finally") }
    let recovered = looks.map { here("free") }
      .map { throw Failed() }
      .recover { @MainActor _ in here("recover") }
    let promise = recovered.map { throw Failed() }
      .catch { @MainActor _ in here("catch") }
      .fulfilled { @MainActor in here("fulfilled") }
    await promise.waitForHandlers()
    // All jobs enqueued on the main actor before this one have run by now.
    await MainActor.run {}
    let expected = [
      "then main", "map main", "tap main", "finally main",
      "free other", "recover main", "catch main", "fulfilled main",
    ]
    #expect(log.all == expected)
  }

  // Fails if main-actor closures and closures for the main queue are dispatched in different ways.
  @Test("main-actor closures and those for the main queue keep the order of attachment")
  func orderOnMain() async {
    for _ in 0..<(isLong ? 2_000 : 100) {
      let (log, deferred) = (Log<Int>(), Deferred<Int>())
      for index in 0..<20 {
        // The last kind starts a task.
        switch index % (tasksStartHere ? 3 : 2) {
        case 0: deferred.promise.fulfilled { @MainActor _ in log.append(index) }
        case 1: deferred.promise.finally(on: .main) { log.append(index) }
        default: deferred.promise.finally { @MainActor in log.append(index) }
        }
      }
      let last = deferred.promise.map { @MainActor _ in log.append(20) }
      onOwnThread { deferred.fulfill(1) }
      await last.waitForHandlers()
      #expect(log.all == Array(0...20))
    }
  }

  // Fails if such a closure runs outside its actor, or its outcome is lost.
  @Test(
    "synchronous closures of any other actor run on that actor", .shows(Promising.whereHandlersRun))
  func otherActor() async {
    let (log, gate) = (Log<String>(), Gate())
    let here = { @Elsewhere @Sendable (name: String) in
      Elsewhere.shared.assertIsolated()
      log.append(name)
    }
    let promise = Promise.value(1)
      .map { @Elsewhere value in
        here("map")
        return value + 1
      }
      .then { @Elsewhere value in
        here("then")
        return Promise.value(value + 1)
      }
      .tap { @Elsewhere _ in here("tap") }
      .finally { @Elsewhere in here("finally") }
    #expect(await promise.outcome == "3")
    let recovered = promise.map { @Elsewhere _ -> Int in throw Failed() }
      .recover { @Elsewhere _ in
        here("recover")
        return 4
      }
    #expect(await recovered.outcome == "4")
    #expect(log.all == ["map", "then", "tap", "finally", "recover"])
    promise.fulfilled { @Elsewhere _ in
      here("fulfilled")
      gate.open()
    }
    await gate.passed()
    #expect(log.all.last == "fulfilled")
  }

  // Fails if an asynchronous handler of the main actor begins, or continues, elsewhere.
  @Test(
    "asynchronous main-actor handlers run on the main actor", .shows(Promising.whereHandlersRun))
  func asynchronousOnMain() async {
    let promise = Promise.value(1).map { @MainActor _ in
      let before = onMainActor()
      await Task.yield()
      return before && onMainActor()
    }
    #expect(await promise.outcome == "true")
  }
}

/// An actor that is not the main actor.
@globalActor actor Elsewhere {
  static let shared = Elsewhere()
}
