import Dispatch
import Testing

@testable import SerialPromises

/// Runs the code in the right column of "Coming from Combine", "from ES6 promises", "from
/// OMPromises" and "from PromiseKit".
struct ComingFromExamples: StandIns {
  private struct SomeError: Error {}
  private struct Late: Error {
    let cause: any Error
    init(_ cause: any Error) { self.cause = cause }
  }

  let log = Log<String>()
  private let a = SerialPromises.Promise.value(1)
  private let b = Promise.value(2)
  private let promise = Promise.value(3)
  private let error = Failed()
  private var failing: Promise<Int> { .failure(error) }
  private let failure = "failed Failed(number: 0)"
  private let queue = DispatchQueue(label: "queue")
  private let key = DispatchSpecificKey<Int>()

  init() { queue.setSpecific(key: key, value: 5) }

  private func fetch(_ number: Int) -> Promise<Int> { Promise { number * 10 } }
  private func load(_ number: Int) async throws -> Int { number * 10 }
  private func compute() -> Int { DispatchQueue.getSpecific(key: key) ?? 42 }
  private func cleanUp() { show("clean") }

  // MARK: Making promises

  // Fails if a promise has another outcome, or its work runs on another queue. Hangs if it has
  // none.
  @Test("promises from values, errors, functions and work")
  func making() async {
    await expectOutcomes([
      "1": Promise.value(1), failure: Promise<Int>.failure(error),
      "1": Promise.value(1, after: .milliseconds(5)),
      "42": Promise<Int> { resolve, reject in ask { resolve($0) } },
      "5": Promise.on(queue) { compute() }, "42": Promise.on(.global()) { compute() },
      "42": Promise { @concurrent in compute() },
    ])
    let pause = Promise.value((), after: .milliseconds(5))
    #expect(await pause.outcome == "()")
  }

  // Fails if the task does not begin with `start` or a demand, or begins without one.
  @Test("work begins when it is started or demanded")
  func cold() async {
    let ask = { @Sendable (resolve: (Int) -> Void, reject: (any Error) -> Void) in
      show("asked")
      resolve(42)
    }
    let compute = { @Sendable in
      show("computed")
      return 42
    }
    let (asked, promise) = (
      Promise<Int> { resolve, reject in ask(resolve, reject) }, Promise { compute() }
    )
    #expect(log.all.isEmpty)
    await expectOutcomes(["42": asked, "42": promise])
    let started = Promise<Int> { resolve, reject in ask(resolve, reject) }.start()
    #expect(log.all == ["asked", "computed", "asked"])
    #expect(await started.outcome == "42")
    let user = login().start()
    #expect(await user.outcome == "User(name: \"Ada\")")
  }

  // Fails if a method does not settle the promise, the second call changes the outcome, or the
  // progress is not reported.
  @Test("deferreds: fulfill, fail, settle, progress, and attempts")
  func deferreds() async {
    SerialPromises.Deferred<Int>().fulfill(1)
    var deferred = Deferred<Int>()
    deferred.progress(0.5)
    #expect(deferred.promise.progress == 0.5 && text(deferred.promise.state) == "pending")
    deferred.fulfill(1)
    #expect(await deferred.promise.outcome == "1")
    deferred = Deferred<Int>()
    deferred.fail(error)
    #expect(await deferred.promise.outcome == failure)
    deferred = Deferred<Int>()
    #expect(deferred.tryFulfill(1))
    #expect(!deferred.tryFail(error))
    deferred = Deferred<Int>()
    let result = Result<Int, any Error>.success(7)
    deferred.settle(with: result)
    #expect(await deferred.promise.outcome == "7")
  }

  // Fails if a promise that was resolved with another one has another outcome, or can be settled
  // elsewhere.
  @Test("a deferred, or the promise of a handler, has the outcome of another promise")
  func resolving() async {
    for promise in [promise, failing] {
      let deferred = Deferred<Int>()
      promise.relay(to: deferred)
      #expect(!deferred.tryFulfill(9))
      #expect(await deferred.promise.outcome == promise.outcome)
      #expect(await a.then { _ in promise }.outcome == promise.outcome)
    }
    let promise = Promise.value(a)
    let joined: Promise<Int> = promise.then { $0 }
    #expect(await joined.outcome == "1")
  }

  // Fails if the handler is not called, a promise is canceled that has no cancel handler or is
  // settled, or a cancellation is not a failure that can be recovered from.
  @Test("canceling returns whether it had an effect, and recover gives a value")
  func canceling() async {
    let (deferred, stop) = (Deferred<Int>(), { @Sendable in show("stopped") })
    let promise = deferred.promise
    #expect(!promise.cancel() && !promise.isCancellable)
    deferred.onCancel { stop() }
    let sure = promise.recover { _ in 0 }
    #expect(promise.isCancellable && promise.cancel() && !promise.cancel())
    await expectOutcomes(["failed CancellationError()": promise, "0": sure])
    #expect(log.all == ["stopped"])
  }

  // Fails if the first search is not replaced.
  @Test("the latest search replaces the one before")
  func replacing() async throws {
    var search: Promise<Int>?
    for _ in 1...2 {
      search?.cancel()
      search = Promise.value((), after: .milliseconds(5)).then { fetch(1) }.start()
    }
    #expect(try await search?.value == 10)
  }

  // MARK: Chains

  // Fails if a value is not passed on, a promise is not awaited, or a handler runs elsewhere.
  @Test("handlers of a value")
  func values() async throws {
    let check = { @Sendable (number: Int) throws in number }
    let work = { @Sendable (number: Int) in number + compute() }
    await expectOutcomes([
      "4": promise.map { $0 + 1 }, "30": promise.then { fetch($0) },
      "30": promise.map { try await load($0) }, "3": promise.map { try check($0) },
      "8": promise.map(on: queue) { work($0) }, "45": promise.map(on: .global()) { work($0) },
    ])
    await expectOutcomes([
      "3": promise.recover { _ in 0 }, "3": promise.recover { _ in fetch(1) },
      "3": promise.recover(from: Missing.self) { _ in 0 },
      "3": promise.timeout(.seconds(30)), "3": promise.delay(.milliseconds(5)),
    ])
    #expect(try await promise.value == 3)
    let show = { @Sendable (value: Int) in log.append("\(value) \(onMainActor())") }
    #expect(await promise.map { @MainActor value in show(value) }.outcome == "()")
    #expect(log.all == ["3 true"])
  }

  // Fails if a failure is not recovered, one of another type is, or the chain does not continue.
  @Test("handlers of a failure")
  func failures() async {
    let promise = failing
    await expectOutcomes([
      failure: promise.map { $0 + 1 }, "0": promise.recover { _ in 0 },
      "10": promise.recover { _ in fetch(1) },
      failure: promise.recover(from: SomeError.self) { _ in 0 },
    ])
    let late = promise.recover { error in throw Late(error) }
    await #expect(throws: Late.self) { try await late.value }
    #expect(await promise.catch { error in show(error) }.outcome == "()")
    #expect(log.all == ["Failed(number: 0)"])
    let some = Promise<Int>.failure(SomeError())
    #expect(await some.recover(from: SomeError.self) { _ in 0 }.outcome == "0")
  }

  // Fails if `g` does not receive the error of `f`, or receives it when `g` comes first.
  @Test("then(f, g): g handles the errors of f, or f receives the result of g")
  func thenOr() async throws {
    let f = { @Sendable (number: Int) throws -> Int in
      guard number > 3 else { throw Failed(number: number) }
      return number + 1
    }
    let g = { @Sendable (error: any Error) in 10 }
    await expectOutcomes([
      "10": promise.map(f).recover(g), "failed Failed(number: 3)": promise.recover(g).map(f),
    ])
    let promise = failing
    await expectOutcomes([
      failure: promise.map(f), "10": promise.recover(g), "10": promise.map(f).recover(g),
      "11": promise.recover(g).map(f),
    ])
  }

  // Fails if a handler is not called after a value or an error, or changes the outcome.
  @Test("handlers of every outcome")
  func always() async {
    let h = { @Sendable in show("done") }
    for promise in [promise, failing] {
      let outcome = await promise.outcome
      await expectOutcomes([
        outcome: promise.tap { show($0) }, outcome: promise.finally { cleanUp() },
        outcome: promise.finally(h),
      ])
    }
    let error = "failure(SerialPromisesTests.Failed(number: 0))"
    #expect(log.count == 6)
    #expect(Set(log.all) == ["success(3)", "clean", "done", error])
  }

  // Fails if a callback is not called, creates another promise, or progress is reported after the
  // value.
  @Test("callbacks return the promise itself")
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
    #expect(log.removeAll() == ["1.0", "7", "Failed(number: 0)"])
    promise = a
    promise.fulfilled { show($0) }.failed { show($0) }.start()
    await promise.waitForHandlers()
    #expect(await promise.map { show($0) }.outcome == "()")
    let last = promise.map { show($0) }.catch { show($0) }.start()
    #expect(await last.outcome == "()")
    #expect(log.all == ["1", "1", "1"])
  }

  // Fails if the number of attempts is wrong. Hangs if the pauses never end.
  @Test("retries: the count is that of the attempts after the first one")
  func retries() async {
    let attempt = { @Sendable () throws -> Int in
      show("attempt")
      throw Failed(number: log.count)
    }
    var cold = Promise { try attempt() }
    #expect(await cold.retry(3).outcome == "failed failed in 4 attempts: Failed(number: 4)")
    cold = Promise { try attempt() }
    let page = cold.retry(3, delay: .milliseconds(1), backoff: .exponential)
    let failure = await #expect(throws: RetryError.self) { try await page.value }
    #expect(failure?.lastError as? Failed == Failed(number: 8))
    #expect(failure?.attempts == 4)
  }

  // MARK: Several promises

  // Fails if a value is misplaced, a plain value is not accepted, or a promise is not pulled.
  @Test("all of several promises")
  func all() async throws {
    let (name, numbers) = (Promise.value("x"), Array(0..<20))
    #expect(try await SerialPromises.when([a, b]).value == [1, 2])
    #expect(try await when([a, b]).value == [1, 2])
    #expect(try await when([a, .value(5)]).value == [1, 5])
    #expect(try await when(["a": a, "b": b]).value == ["a": 1, "b": 2])
    #expect(await when(a, b).outcome == "(1, 2)")
    #expect(await when(a, name).outcome == "(1, \"x\")")
    #expect(await when(a, .value("x")).outcome == "(1, \"x\")")
    let all = when(numbers.lazy.map { fetch($0) }, concurrently: 4)
    #expect(try await all.value == numbers.map { $0 * 10 })
  }

  // Fails if a failure does not settle the result or settles that of `resolved`, or its position,
  // its cause or an outcome is lost.
  @Test("a failure among several promises")
  func oneFails() async throws {
    let b = failing
    await when([a, b]).catch { error in
      show((error as? WhenError<Int>)?.position ?? -1)
      show((error as? WhenError<Int>)?.underlying ?? error)
    }.waitForHandlers()
    await when(["a": a, "b": b]).catch { error in
      show((error as? WhenError<String>)?.position ?? "none")
    }.waitForHandlers()
    #expect(log.all == ["1", "Failed(number: 0)", "b"])
    let outcomes = try await when(resolved: [a, b]).value
    #expect(outcomes.map { try? $0.get() } == [1, nil])
  }

  // Fails if a failure settles `any` or cannot settle the race, or an error is lost.
  @Test("the first of several promises")
  func first() async throws {
    #expect(try await Promise.race([a, b]).value == 1)
    let pending = Deferred<Int>()
    do {
      let (a, b) = (pending.promise, failing)
      #expect(await Promise.race([a, b]).outcome == failure)
    }
    let b = failing
    #expect(await Promise.any([a, b]).outcome == "1")
    let a = Promise<Int>.failure(Failed(number: 1))
    let none = Promise.any([a, b]).catch { error in
      for error in (error as? AllFailedError)?.errors ?? [] { show(error) }
    }
    #expect(await none.outcome == "()")
    #expect(log.all == ["Failed(number: 1)", "Failed(number: 0)"])
    pending.fulfill(1)
  }

  // Fails if the steps are in another order, or one does not run.
  @Test("one promise after another")
  func serially() async throws {
    let increment = { @Sendable (number: Int) in Promise.value(number + 1) }
    let double = { @Sendable (number: Int) in Promise.value(number * 2) }
    #expect(await chain(initial: 1, [increment, double]).outcome == "4")
    let manager = PromiseManager()
    manager.add(promise)
    #expect(try await manager.serially([a, b]).value == [1, 2])
  }

  // Fails if an unhandled failure is not reported, or is reported as another diagnostic.
  @Test("unhandledrejection")
  func unhandled() {
    let diagnostics = DiagnosticHandler { diagnostic in
      if case .unhandledFailure(let promise, let error) = diagnostic {
        show("\(promise): \(error)")
      }
    }
    do {
      let deferred = Deferred<Int>("answer", diagnostics: diagnostics)
      deferred.fail(error)
    }
    #expect(log.all == ["promise \"answer\": Failed(number: 0)"])
  }
}
