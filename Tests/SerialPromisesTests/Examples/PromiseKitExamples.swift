import Dispatch
import Testing

@testable import SerialPromises

private func fetch(_ number: Int) -> Promise<Int> { Promise { number * 10 } }
private func load(_ number: Int) async throws -> Int { number * 10 }
private func login() -> Promise<String> { Promise { "Ada" } }
private func compute() -> Int { 42 }

/// The table in the article for users of PromiseKit, row by row.
struct PromiseKitExamples {
  private let log = Log<String>()
  private let a = SerialPromises.Promise.value(1)
  private let b = Promise.value(2)
  private let promise = Promise.value(1)
  private var failing: Promise<Int> { .failure(Failed()) }

  private func show<Shown: Sendable>(_ shown: Shown) { log.append("\(shown)") }
  private func cleanUp() { log.append("clean") }

  // MARK: Chains

  // Fails if a handler's value or promise is not adopted, or a kind of handler is not accepted.
  @Test("then: with a value, a promise, an asynchronous handler, a main-actor handler")
  func then() async {
    #expect(await promise.map { $0 + 1 }.outcome == "2")
    #expect(await promise.then { fetch($0) }.outcome == "10")
    #expect(await promise.map { try await load($0) }.outcome == "10")
    let show = { @Sendable (value: Int) in log.append("\(value) \(onMainActor())") }
    #expect(await promise.map { @MainActor value in show(value) }.outcome == "()")
    #expect(log.all == ["1 true"])
  }

  // Fails if the handler does not receive the error, or the chain does not continue after it.
  @Test("catch: the chain continues after it, without a value")
  func catching() async {
    let promise = failing
    let caught = promise.catch { error in show(error) }
    #expect(await caught.outcome == "()")
    #expect(log.all == ["Failed(number: 0)"])
  }

  // Fails if it is not called after a value or an error, or changes the outcome.
  @Test("finally and ensure")
  func finally() async {
    for promise in [promise, failing] {
      let outcome = await promise.outcome
      #expect(await promise.finally { cleanUp() }.outcome == outcome)
    }
    #expect(log.all == ["clean", "clean"])
  }

  // Fails if a handler runs on the main queue because its promise was settled there.
  @Test("thenInBackground")
  func background() async {
    let deferred = Deferred<Int>()
    let promise = deferred.promise
    let work = { @Sendable (value: Int) in "\(value) \(onMainActor())" }
    let background = promise.map(on: .global()) { work($0) }
    await MainActor.run { deferred.fulfill(1) }
    #expect(await background.outcome == "1 false")
  }

  // Fails if the handler or the work runs on another queue than the given one.
  @Test("thenOn and dispatch_promise")
  func queues() async {
    let (key, queue) = (DispatchSpecificKey<Int>(), DispatchQueue(label: "queue"))
    queue.setSpecific(key: key, value: 5)
    let work = { @Sendable (value: Int) in value + (DispatchQueue.getSpecific(key: key) ?? 0) }
    #expect(await promise.map(on: queue) { work($0) }.outcome == "6")
    #expect(await Promise.on(.global()) { compute() }.outcome == "42")
    #expect(await Promise { @concurrent in compute() }.outcome == "42")
  }

  // Fails if the chain does not begin.
  @Test("firstly: the chain begins with its promise")
  func first() async {
    let user = login().start()
    await user.waitForHandlers()
    #expect(text(user.state) == "Ada")
  }

  // Fails if the value does not arrive, or the callback creates another promise.
  @Test("done")
  func done() async {
    #expect(await promise.map { show($0) }.outcome == "()")
    #expect(promise.fulfilled { show($0) }.core === promise.core)
    await promise.waitForHandlers()
    #expect(log.all == ["1", "1"])
  }

  // Fails if `tap` changes the value, or is not called after a failure.
  @Test("map, get and tap")
  func looking() async {
    #expect(await promise.map { $0 + 1 }.outcome == "2")
    let check = { @Sendable (number: Int) throws in number }
    #expect(await promise.map { try check($0) }.outcome == "1")
    #expect(await promise.tap { show($0) }.outcome == "1")
    #expect(await failing.tap { show($0) }.outcome == "failed Failed(number: 0)")
    let error = "failure(SerialPromisesTests.Failed(number: 0))"
    #expect(log.all == ["success(1)", error])
  }

  // MARK: Failures

  // Fails if a failure is not recovered, or an error of another type is.
  @Test("recover, from all errors or from those of one type")
  func recover() async {
    struct SomeError: Error {}
    var promise = Promise<Int>.failure(SomeError())
    #expect(await promise.recover { _ in 0 }.outcome == "0")
    #expect(await promise.recover(from: SomeError.self) { _ in 0 }.outcome == "0")
    promise = failing
    let other = await promise.recover(from: SomeError.self) { _ in 0 }.outcome
    #expect(other == "failed Failed(number: 0)")
  }

  // Fails if the promise does not have the outcome of the result.
  @Test("resolve with a result")
  func resolve() async {
    let (deferred, result) = (Deferred<Int>(), Result<Int, any Error>.success(7))
    deferred.settle(with: result)
    #expect(await deferred.promise.outcome == "7")
  }

  // Fails if a cancellation is not a failure that can be recovered from.
  @Test("Guarantee: a canceled promise fails, and recover gives it a value")
  func guarantee() async {
    let deferred = Deferred<Int>()
    deferred.onCancel {}
    let promise = deferred.promise
    let sure = promise.recover { _ in 0 }
    promise.cancel()
    #expect(await promise.outcome == "failed CancellationError()")
    #expect(await sure.outcome == "0")
  }

  // Fails if the number of attempts is wrong; hangs if the pauses never end.
  @Test("attempt: the count is that of the attempts after the first one")
  func attempts() async {
    let cold = Promise<Int> {
      log.append("attempt")
      throw Failed(number: log.count)
    }
    let page = cold.retry(3, delay: .milliseconds(1), backoff: .exponential)
    let failure = await #expect(throws: RetryError.self) { try await page.value }
    #expect(failure?.lastError as? Failed == Failed(number: 4))
    #expect(failure?.attempts == 4)
  }

  // MARK: Several promises

  // Fails if a value is misplaced, or a plain value is not accepted.
  @Test("when, with an array, a dictionary and plain values")
  func whens() async throws {
    #expect(try await SerialPromises.when([a, b]).value == [1, 2])
    #expect(try await when(["a": a, "b": b]).value == ["a": 1, "b": 2])
    let (number, word) = try await when(a, .value("x")).value
    #expect(number == 1 && word == "x")
    #expect(try await when([a, .value(5)]).value == [1, 5])
  }

  // Fails if the index or the key of the promise that failed is lost.
  @Test("the index and the key of the promise that failed")
  func position() async {
    await when([a, failing]).catch { error in
      show((error as? WhenError<Int>)?.position ?? -1)
    }.waitForHandlers()
    await when(["a": a, "b": failing]).catch { error in
      show((error as? WhenError<String>)?.position ?? "none")
    }.waitForHandlers()
    #expect(log.all == ["1", "b"])
  }

  // Fails if a failure cannot settle the race, or the outcomes are in another order.
  @Test("race and when(resolved:)")
  func settled() async throws {
    let deferred = Deferred<Int>()
    let (a, b) = (deferred.promise, failing)
    #expect(await Promise.race([a, b]).outcome == "failed Failed(number: 0)")
    deferred.fulfill(1)
    let outcomes = try await when(resolved: [a, b]).value
    #expect(outcomes.map { try? $0.get() } == [1, nil])
  }

  // Fails if a promise is not pulled, or the values are in completion order.
  @Test("when(fulfilled:concurrently:)")
  func concurrently() async throws {
    let numbers = Array(0..<20)
    let all = when(numbers.lazy.map { fetch($0) }, concurrently: 4)
    #expect(try await all.value == numbers.map { $0 * 10 })
  }

  // MARK: Making promises

  // Fails if the promise is never fulfilled.
  @Test("after")
  func after() async {
    let pause = Promise.value((), after: .milliseconds(5))
    #expect(await pause.outcome == "()")
  }

  // Fails if the promise is settled before the deferred settles it.
  @Test("Promise.pending")
  func pending() async {
    let deferred = Deferred<Int>()
    #expect(text(deferred.promise.state) == "pending")
    deferred.fulfill(1)
    #expect(await deferred.promise.outcome == "1")
  }
}
