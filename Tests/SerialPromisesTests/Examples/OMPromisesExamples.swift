import Dispatch
import Testing

@testable import SerialPromises

/// The table in the article for users of OMPromises, row by row.
struct OMPromisesExamples {
  private let log = Log<String>()
  private let a = Promise.value(1)
  private let b = Promise.value(2)
  private let promise = Promise.value(1)
  private let error = Failed()
  private var failing: Promise<Int> { .failure(error) }

  private func show<Shown: Sendable>(_ shown: Shown) { log.append("\(shown)") }
  private func cleanUp() { log.append("clean") }
  private func stop() { log.append("stopped") }

  // MARK: Deferreds

  // Fails if a method does not settle the promise, or its progress is not reported.
  @Test("fulfill, fail and progress")
  func deferred() async {
    var deferred = Deferred<Int>()
    deferred.progress(0.5)
    #expect(deferred.promise.progress == 0.5)
    deferred.fulfill(1)
    #expect(await deferred.promise.outcome == "1")
    deferred = Deferred<Int>()
    deferred.fail(error)
    #expect(await deferred.promise.outcome == "failed Failed(number: 0)")
  }

  // Fails if a value is not passed on, or a promise is not awaited.
  @Test("then: is map for a value, then for a promise")
  func then() async {
    let fetch = { @Sendable (value: Int) in Promise.value(value * 10) }
    #expect(await promise.map { $0 + 1 }.outcome == "2")
    #expect(await promise.then { fetch($0) }.outcome == "10")
  }

  // Fails if the second call changes the outcome, or returns that it did.
  @Test("tryFulfill and tryFail return whether they settled the promise")
  func tries() async {
    let deferred = Deferred<Int>()
    #expect(deferred.tryFulfill(1))
    #expect(!deferred.tryFail(error))
    #expect(await deferred.promise.outcome == "1")
  }

  // Fails if the handler is not called, or a promise is canceled that has no cancel handler or is
  // settled.
  @Test("cancelled: and cancel, which returns whether it had an effect")
  func canceling() async {
    let deferred = Deferred<Int>()
    let promise = deferred.promise
    #expect(!promise.cancel() && !promise.isCancellable)
    deferred.onCancel { stop() }
    #expect(promise.isCancellable)
    #expect(promise.cancel())
    #expect(!promise.cancel())
    #expect(await promise.outcome == "failed CancellationError()")
    #expect(log.all == ["stopped"])
  }

  // Fails if the deferred does not have the promise's outcome, or can be settled elsewhere.
  @Test("relay: the deferred has the outcome of the promise")
  func relay() async {
    let (source, deferred) = (Deferred<Int>(), Deferred<Int>())
    let promise = source.promise
    promise.relay(to: deferred)
    #expect(!deferred.tryFulfill(9))
    source.fulfill(1)
    #expect(await deferred.promise.outcome == "1")
  }

  // MARK: Chains

  // Fails if the handler is not called, or runs after the wrong outcome.
  @Test("rescue after then")
  func links() async {
    #expect(await promise.map { $0 + 1 }.outcome == "2")
    #expect(await promise.recover { _ in 0 }.outcome == "1")
    let promise = failing
    #expect(await promise.map { $0 + 1 }.outcome == "failed Failed(number: 0)")
    #expect(await promise.recover { _ in 0 }.outcome == "0")
  }

  // Fails if one of the two is not called after a value or an error, or changes the outcome.
  @Test("always, with the outcome and without it")
  func always() async {
    for promise in [promise, failing] {
      let outcome = await promise.outcome
      #expect(await promise.tap { show($0) }.outcome == outcome)
      #expect(await promise.finally { cleanUp() }.outcome == outcome)
    }
    let error = "failure(SerialPromisesTests.Failed(number: 0))"
    #expect(log.all == ["success(1)", "clean", error, "clean"])
  }

  // Fails if a callback is not called, creates another promise, or progress is reported after the
  // value.
  @Test("fulfilled, failed and progressed return the promise itself")
  func callbacks() async {
    let deferred = Deferred<Int>()
    var promise = deferred.promise
    #expect(promise.progressed { show($0) }.core === promise.core)
    #expect(promise.fulfilled { show($0) }.core === promise.core)
    deferred.fulfill(7)
    await promise.waitForHandlers()
    promise = failing
    #expect(promise.failed { show($0) }.core === promise.core)
    await promise.waitForHandlers()
    #expect(log.all == ["1.0", "7", "Failed(number: 0)"])
  }

  // Fails if the handler or the work runs elsewhere.
  @Test("on: and promiseWithTask:on:")
  func queues() async {
    let (key, queue) = (DispatchSpecificKey<Int>(), DispatchQueue(label: "queue"))
    queue.setSpecific(key: key, value: 5)
    let compute = { @Sendable in DispatchQueue.getSpecific(key: key) ?? 0 }
    let work = { @Sendable (value: Int) in value + compute() }
    #expect(await promise.map(on: queue) { work($0) }.outcome == "6")
    #expect(await Promise.on(queue) { compute() }.outcome == "5")
  }

  // MARK: Several promises

  // Fails if the inner promise stays a value.
  @Test("join is then { $0 }")
  func join() async {
    let promise = Promise.value(a)
    let joined: Promise<Int> = promise.then { $0 }
    #expect(await joined.outcome == "1")
  }

  // Fails if the steps are in another order.
  @Test("chain:initial:")
  func chaining() async {
    let increment = { @Sendable (number: Int) in Promise.value(number + 1) }
    let double = { @Sendable (number: Int) in Promise.value(number * 2) }
    #expect(await chain(initial: 1, [increment, double]).outcome == "4")
  }

  // Fails if a value is misplaced, or a failure is lost.
  @Test("all and collect")
  func all() async throws {
    #expect(try await when([a, b]).value == [1, 2])
    let b = failing
    let failure = await #expect(throws: WhenError<Int>.self) { try await when([a, b]).value }
    #expect(failure?.position == 1)
    let outcomes = try await when(resolved: [a, b]).value
    #expect(outcomes.map { try? $0.get() } == [1, nil])
  }

  // Fails if a failure settles the result, or an error is lost.
  @Test("any: the error has all errors")
  func any() async {
    let (a, b) = (Promise<Int>.failure(Failed(number: 1)), Promise<Int>.failure(error))
    let failure = await #expect(throws: AllFailedError.self) {
      try await Promise.any([a, b]).value
    }
    #expect(failure?.errors as? [Failed] == [Failed(number: 1), Failed(number: 0)])
    #expect(await Promise.any([a, self.b]).outcome == "2")
  }

  // MARK: Making promises

  // Fails if a promise has another outcome; hangs if it has none.
  @Test("promiseWithResult, promiseWithError and after")
  func making() async {
    #expect(await Promise.value(1).outcome == "1")
    #expect(await Promise<Int>.failure(error).outcome == "failed Failed(number: 0)")
    #expect(await Promise.value(1, after: .milliseconds(5)).outcome == "1")
  }

  // Fails if the task begins without a demand.
  @Test("OMLazyPromise: a promise created from a closure is cold")
  func lazy() async {
    let compute = { @Sendable in
      show("begun")
      return 42
    }
    let promise = Promise { compute() }
    #expect(log.all.isEmpty)
    #expect(await promise.outcome == "42")
    #expect(log.all == ["begun"])
  }
}
