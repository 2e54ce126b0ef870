import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Waiting with a thread.
struct WaitTests {
  /// Runs something that blocks on a thread of its own.
  private func blocking(_ body: @escaping @Sendable () throws -> Int) async -> String {
    await withCheckedContinuation { continuation in
      onOwnThread {
        do { continuation.resume(returning: "\(try body())") } catch {
          continuation.resume(returning: "failed \(error)")
        }
      }
    }
  }

  // Fails if the thread is not woken, or the error is lost.
  @Test(
    "it returns the value, or throws the error", .shows(Promising.wait), arguments: Moment.allCases)
  func outcomes(_ moment: Moment) async {
    let value = await blocking { try moment.settling(.success(1)) { $0 }.wait() }
    #expect(value == "1")
    let error = await blocking { try moment.settling(.failure(Failed())) { $0 }.wait() }
    #expect(error == "failed Failed(number: 0)")
  }

  // Fails if the time is not limited, or the promise suffers from it.
  @Test("with a timeout, it throws and leaves the promise alone")
  func timeout() async {
    let deferred = Deferred<Int>()
    let first = await blocking { try deferred.promise.wait(timeout: .milliseconds(1)) }
    #expect(first == "failed \(PromiseError.timedOut(.milliseconds(1)))")
    #expect(text(deferred.promise.state) == "pending")
    deferred.fulfill(2)
    #expect(await blocking { try deferred.promise.wait(timeout: .seconds(1000)) } == "2")
  }

  // Fails if a thread that is about to wait keeps the handlers that it made runnable.
  @Test("in a handler, it waits for what that handler made runnable")
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

  // Fails if what another thread or task is at work on is taken for what has to wait for this.
  @Test("in a handler, it waits for an earlier one that works elsewhere")
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

  // Fails if what a time limit or another promise can end is taken for a deadlock.
  @Test("in a handler, it waits for what something else may end")
  func otherWays() async {
    let deferred = Deferred<Int>()
    let (source, clock) = (deferred.promise, ManualClock())
    let promise = source.map { _ in
      let later = source.map { $0 + 1 }
      let race = try Promise.race([later, .value(7)]).wait()
      let limited = later.timeout(.seconds(1), clock: clock)
      onOwnThread {
        Task {
          await clock.slept.passed()
          clock.advance(by: .seconds(1))
        }
      }
      do { return try limited.wait() } catch { return race }
    }
    deferred.fulfill(1)
    #expect(await promise.outcome == "7")
  }

  // Fails if it waits for ever: the handler that has to end first is the one that waits.
  @Test(
    "in a handler on which the promise depends, it stops the program and says why",
    .shows(Promising.wait))
  func ownHandler() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      endWithoutBacktrace()
      let deferred = Deferred<Int>("own")
      let place = Locked<Promise<Int>?>(nil)
      let promise = deferred.promise.map { value in
        try place.withLock { $0 }?.map { $0 }.wait() ?? value
      }
      place.withLock { $0 = promise }
      deferred.fulfill(1)
      _ = try await promise.value
    }
    #expect(message(result).contains("\"own\" was waited for in a handler"))
  }

  // Fails if a handler that comes after the one that waits is waited for.
  @Test(
    "in a handler, for one that comes after it, it stops the program and says why",
    .shows(Promising.wait))
  func laterHandler() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      endWithoutBacktrace()
      let promise = Promise<Int>("later") { resolve, _ in resolve(1) }
      _ = try await promise.map { _ in try promise.map { $0 }.wait() }.value
    }
    #expect(message(result).contains("\"later\" was waited for in a handler"))
  }

  // Fails if a handler on a queue is not known to run.
  @Test(
    "in a handler on a queue on which the promise depends, it stops the program",
    .shows(Promising.wait))
  func ownHandlerOnQueue() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      endWithoutBacktrace()
      let deferred = Deferred<Int>("queue")
      let place = Locked<Promise<Int>?>(nil)
      let promise = deferred.promise.map(on: DispatchQueue(label: "own")) { value in
        try place.withLock { $0 }?.map { $0 }.wait() ?? value
      }
      place.withLock { $0 = promise }
      deferred.fulfill(1)
      _ = try await promise.value
    }
    #expect(message(result).contains("\"queue\" was waited for in a handler"))
  }

  // Fails if the main thread waits for what has to run on it.
  @Test(
    "on the main thread, for a handler that runs there, it stops the program and says why",
    .shows(Promising.wait))
  func mainThread() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      endWithoutBacktrace()
      await MainActor.run {
        let promise = Promise.value(1).map { @MainActor value in value + 1 }
        _ = try? promise.map { $0 }.wait()
      }
    }
    #expect(message(result).contains("was waited for on the main thread"))
  }

  // Fails, by hanging, if the work or the handler is not known to run on the main queue.
  @Test(
    "on the main thread, for other work that runs there, it stops the program and says why",
    .shows(Promising.wait), arguments: 0..<6)
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
          default:
            Promise.value(1).then { @MainActor (value: Int) async throws -> Promise<Int> in
              Promise.value(value)
            }
          }
        _ = try? when([promise.map { $0 }, .value(2)]).wait()
      }
    }
    #expect(message(result).contains("was waited for on the main thread"))
  }

  // Fails, by stopping the program, if what runs there and is over is waited for.
  @MainActor
  @Test("on the main thread, it waits for what a handler of the main actor has begun elsewhere")
  func begunOnMainThread() async throws {
    let deferred = Deferred<Int>()
    let begun = Gate()
    let promise = Promise.value(1).then { @MainActor _ in
      begun.open()
      return deferred.promise
    }
    await begun.passed()
    // The handler returns in the turn that the main actor has before this one.
    await Task.yield()
    let settled = promise.map { $0 + 1 }
    onOwnThread { deferred.fulfill(1) }
    #expect(try Self.blocking(settled) == 2)
  }

  @MainActor
  private static func blocking(_ promise: Promise<Int>) throws -> Int { try promise.wait() }

  // Fails, by stopping the program, if a wait that ends is taken for a deadlock.
  @Test("with a timeout, it throws where it could not end otherwise", .shows(Promising.wait))
  func timeoutInHandler() async {
    let (timedOut, promise) = (PromiseError.timedOut(.milliseconds(1)), Promise<Int> { 1 })
    let later = promise.map { _ in try promise.map { $0 }.wait(timeout: .milliseconds(1)) }
    #expect(await later.outcome == "failed \(timedOut)")
    #expect(await Self.waitingOnMain() == "failed \(timedOut)")
  }

  @MainActor
  private static func waitingOnMain() -> String {
    // Made here: its handler cannot run before this has returned.
    let promise = Promise.value(1).map { @MainActor value in value }
    do { return "\(try promise.wait(timeout: .milliseconds(1)))" } catch {
      return "failed \(error)"
    }
  }

  private func message(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  }

  // Fails, by the time limit, if `waitUntilIdle` does not pass on what waits for its thread.
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
