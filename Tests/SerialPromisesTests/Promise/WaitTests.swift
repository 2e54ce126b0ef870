import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Blocking a thread until a promise is settled.
struct WaitTests {
  /// Runs a blocking closure on its own thread.
  private func blocking(_ body: @escaping @Sendable () throws -> Int) async -> String {
    await onNewThread {
      do { return "\(try body())" } catch { return "failed \(error)" }
    }
  }

  // Hangs if the thread is not woken; fails if the error is lost.
  @Test(
    "wait returns the value, or throws the error", .shows(Promising.wait),
    arguments: Moment.allCases)
  func outcomes(_ moment: Moment) async {
    let value = await blocking { try moment.settling(.success(1)) { $0 }.wait() }
    #expect(value == "1")
    let error = await blocking { try moment.settling(.failure(Failed())) { $0 }.wait() }
    #expect(error == "failed Failed(number: 0)")
  }

  // Hangs if the timeout is ignored; fails if the promise is affected.
  @Test("wait with a timeout throws and leaves the promise unchanged")
  func timeout() async {
    let deferred = Deferred<Int>()
    let first = await blocking { try deferred.promise.wait(timeout: .milliseconds(1)) }
    #expect(first == "failed \(PromiseError.timedOut(.milliseconds(1)))")
    #expect(text(deferred.promise.state) == "pending")
    deferred.fulfill(2)
    #expect(await blocking { try deferred.promise.wait(timeout: .seconds(1000)) } == "2")
  }

  // Hangs if a thread that is about to block keeps the handlers that it made runnable.
  @Test("wait in a handler waits for handlers that this handler made runnable")
  func handsOver() async {
    let promise = Promise.value(1).map { value in
      let (first, second) = (Deferred<Int>(), Deferred<Int>())
      let derived = first.promise.map { $0 + 1 }
      let other = second.promise.map { $0 + 1 }
      first.fulfill(value)
      second.fulfill(value + 10)
      return try derived.wait() + other.wait()
    }
    #expect(await promise.outcome == "14")
  }

  // Traps if work of another thread or task counts as a handler that must wait for this one.
  @Test("wait in a handler waits for an earlier one that runs on another thread")
  func elsewhere() async {
    let (deferred, queue, gate) = (Deferred<Int>(), DispatchQueue(label: "other"), Gate())
    let onQueue = deferred.promise.map(on: queue) { value in
      gate.block()
      return value + 1
    }
    let inTask = deferred.promise.map { value in
      await gate.passed()
      return value + 2
    }
    let promise = deferred.promise.map { _ in
      gate.open()
      return try onQueue.wait() + inTask.wait()
    }
    deferred.fulfill(1)
    #expect(await promise.outcome == "5")
  }

  // Traps if a wait that a time limit or another promise can end counts as a deadlock.
  @Test("wait in a handler waits for a promise that can be settled elsewhere")
  func otherWays() async {
    let deferred = Deferred<Int>()
    let (source, clock) = (deferred.promise, ManualClock())
    let promise = source.map { _ in
      let later = source.map { $0 + 1 }
      let race = try Promise.race([later, .value(7)]).wait()
      let limited = later.timeout(.seconds(1), clock: clock)
      onOwnThread {
        Task {
          await clock.elapse(.seconds(1))
        }
      }
      do { return try limited.wait() } catch { return race }
    }
    deferred.fulfill(1)
    #expect(await promise.outcome == "7")
  }

  // Hangs if the deadlock is not detected: the handler that must end first is the one that waits,
  // or comes before the one that it waits for. Also if a handler on a queue is not registered as
  // running.
  @Test(
    "wait in a handler that the promise depends on, or a later one, traps with the reason",
    .shows(Promising.wait), arguments: 0..<3)
  func ownHandler(_ way: Int) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      [way] in
      endWithoutBacktrace()
      let deferred = Deferred<Int>("own")
      let (source, place) = (deferred.promise, Locked<Promise<Int>?>(nil))
      let wait = { @Sendable (value: Int) in
        try place.withLock { $0 }?.map { $0 }.wait() ?? value
      }
      let promise =
        switch way {
        case 0: source.map(wait)
        case 1: source.map(on: DispatchQueue(label: "own"), wait)
        default: source.map { _ in try source.map { $0 }.wait() }
        }
      place.withLock { $0 = promise }
      deferred.fulfill(1)
      _ = try await promise.value
    }
    #expect(message(result).contains("\"own\" was waited for in a handler"))
  }

  // Hangs if the main thread waits for a handler that has to run on it, or if the work or the
  // handler is not registered as running on the main queue.
  @Test(
    "wait on the main thread, for a handler or work of the main thread, traps with the reason",
    .shows(Promising.wait), arguments: 0..<7)
  func workOnMainThread(_ way: Int) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      [way] in
      endWithoutBacktrace()
      await MainActor.run {
        let promise: Promise<Int> =
          switch way {
          case 0: Promise.value(1).map { @MainActor value async in value + 1 }
          case 1: Promise.value(1).finally { @MainActor () async in }
          case 2: Promise { @MainActor in 1 }
          case 3: Promise.on(.main) { 1 }
          case 4:
            when((0..<2).lazy.map { Promise.value($0) }, concurrently: 1).map { $0.count }
          case 5: Promise.value(1).map { @MainActor value in value + 1 }
          default:
            Promise.value(1).then { @MainActor (value: Int) async throws -> Promise<Int> in
              Promise.value(value)
            }
          }
        let last = promise.map { $0 }
        _ = way == 5 ? try? last.wait() : try? when([last, .value(2)]).map { $0[0] }.wait()
      }
    }
    #expect(message(result).contains("was waited for on the main thread"))
  }

  // Traps if finished work of the main thread is treated as pending.
  @MainActor
  @Test("wait on the main thread waits for work that a main-actor handler has begun elsewhere")
  func begunOnMainThread() async throws {
    let deferred = Deferred<Int>()
    let begun = Gate()
    let promise = Promise.value(1).then { @MainActor _ in
      begun.open()
      return deferred.promise
    }
    await begun.passed()
    // The handler returns in the preceding turn of the main actor.
    await Task.yield()
    onOwnThread { deferred.fulfill(1) }
    #expect(try Self.blocking(promise) == 1)
  }

  @MainActor
  private static func blocking(_ promise: Promise<Int>) throws -> Int { try promise.wait() }

  // Traps if a wait that ends counts as a deadlock; fails if it ends without a report of its
  // reason.
  @Test("wait with a timeout throws where it would otherwise deadlock", .shows(Promising.wait))
  func timeoutInHandler() async {
    let (timedOut, reports) = (PromiseError.timedOut(.milliseconds(1)), Reports())
    let promise = Promise<Int>("own", diagnostics: reports.place) { 1 }
    let later = promise.map { _ in try promise.map { $0 }.wait(timeout: .milliseconds(1)) }
    #expect(await later.outcome == "failed \(timedOut)")
    #expect(await Self.waitingOnMain(reports) == "failed \(timedOut)")
    let reasons = reports.all.map { "\($0)" }
    #expect(reasons.count == 2)
    #expect(reasons.first?.contains("\"own\" was waited for in a handler") == true)
    #expect(reasons.last?.contains("was waited for on the main thread") == true)
  }

  @MainActor
  private static func waitingOnMain(_ reports: Reports) -> String {
    // Created here, because its handler cannot run before this function has returned.
    let promise = Promise<Int>(diagnostics: reports.place) { 1 }.map { @MainActor value in value }
    do { return "\(try promise.wait(timeout: .milliseconds(1)))" } catch {
      return "failed \(error)"
    }
  }

  // Times out if `waitUntilIdle` does not pass on the handlers that wait for its thread.
  @Test("waitUntilIdle in a promise's handler lets the handlers behind it run")
  func untilIdle() async {
    let (manager, taken) = (PromiseManager(), Taken())
    manager.add(taken.handler)
    let promise = Promise.value(1).map { value in
      Promise.value(0).fulfilled { _ in taken.call() }
      try manager.waitUntilIdle(timeout: .seconds(60))
      return value
    }
    #expect(await promise.outcome == "1")
  }
}
