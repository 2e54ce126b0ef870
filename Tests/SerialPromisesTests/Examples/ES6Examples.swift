import Testing

@testable import SerialPromises

private func fetch(_ number: Int) -> Promise<Int> { Promise { number * 10 } }

/// The table in the article for users of ES6 promises, row by row.
struct ES6Examples {
  private let log = Log<String>()
  private let a = Promise.value(1)
  private let b = Promise.value(2)
  private let promise = Promise.value(1)
  private let error = Failed()
  private var failing: Promise<Int> { .failure(error) }

  private func show<Shown: Sendable>(_ shown: Shown) { log.append("\(shown)") }

  // MARK: Making promises

  // Fails if the task does not begin with `start`, or begins without it.
  @Test("new Promise begins when it is started or demanded")
  func making() async {
    let ask = { @Sendable (resolve: (Int) -> Void, reject: (any Error) -> Void) in
      show("begun")
      resolve(42)
    }
    let cold = Promise<Int> { resolve, reject in ask(resolve, reject) }
    #expect(log.all.isEmpty)
    #expect(await cold.outcome == "42")
    let started = Promise<Int> { resolve, reject in ask(resolve, reject) }.start()
    #expect(log.all == ["begun", "begun"])
    #expect(await started.outcome == "42")
  }

  // Fails if a promise that was resolved with another does not have its outcome.
  @Test("resolve(promise)")
  func resolving() async {
    for promise in [promise, failing] {
      let deferred = Deferred<Int>()
      promise.relay(to: deferred)
      #expect(await deferred.promise.outcome == promise.outcome)
      #expect(await a.then { _ in promise }.outcome == promise.outcome)
    }
  }

  // Fails if the promises are not settled with the given result.
  @Test("Promise.resolve and Promise.reject")
  func settled() {
    #expect(text(Promise.value(1).state) == "1")
    #expect(text(Promise<Int>.failure(error).state) == "failed Failed(number: 0)")
  }

  // MARK: Chains

  // Fails if the handler is not called, or is called after a failure.
  @Test("then(f)")
  func then() async {
    let f = { @Sendable (number: Int) in number + 1 }
    #expect(await promise.map(f).outcome == "2")
    let promise = failing
    #expect(await promise.map(f).outcome == "failed Failed(number: 0)")
  }

  // Fails if `g` does not receive the error of `f`, or receives it when `g` comes first.
  @Test("then(f, g): g handles the errors of f, or f receives the result of g")
  func thenOr() async throws {
    let f = { @Sendable (number: Int) throws -> Int in
      guard number > 1 else { throw Failed(number: number) }
      return number + 1
    }
    let g = { @Sendable (error: any Error) in 10 }
    #expect(await promise.map(f).recover(g).outcome == "10")
    #expect(await promise.recover(g).map(f).outcome == "failed Failed(number: 1)")
    let promise = failing
    #expect(await promise.map(f).recover(g).outcome == "10")
    #expect(await promise.recover(g).map(f).outcome == "11")
  }

  // Fails if `recover` gives no value, or `catch` does not receive the error.
  @Test("catch(g)")
  func catching() async {
    let promise = failing
    let g = { @Sendable (error: any Error) in 10 }
    #expect(await promise.recover(g).outcome == "10")
    #expect(await promise.catch { error in show(error) }.outcome == "()")
    #expect(log.all == ["Failed(number: 0)"])
  }

  // Fails if it is not called after a value or an error, or changes the outcome.
  @Test("finally(h)")
  func finally() async {
    let h = { @Sendable in show("clean") }
    for promise in [promise, failing] {
      let outcome = await promise.outcome
      #expect(await promise.finally(h).outcome == outcome)
    }
    #expect(log.all == ["clean", "clean"])
  }

  // Fails if a promise returned by a handler is not awaited, or is treated as a value.
  @Test("a thenable: a promise returned by a handler is adopted")
  func thenable() async {
    #expect(await promise.then { fetch($0) }.outcome == "10")
  }

  // Fails if the value or the error is lost.
  @Test("await promise")
  func awaiting() async throws {
    #expect(try await promise.value == 1)
    let promise = failing
    await #expect(throws: Failed()) { try await promise.value }
  }

  // MARK: Several promises

  // Fails if a value is misplaced, or a failure does not settle the result.
  @Test("Promise.all")
  func all() async throws {
    let name = Promise.value("x")
    #expect(try await when([a, b]).value == [1, 2])
    let both = try await when(a, name).value
    #expect(both == (1, "x"))
    let b = failing
    let failure = await #expect(throws: WhenError<Int>.self) { try await when([a, b]).value }
    #expect(failure?.position == 1)
  }

  // Fails if a failure settles the result, or an outcome is misplaced.
  @Test("Promise.allSettled")
  func allSettled() async throws {
    let b = failing
    let outcomes = try await when(resolved: [a, b]).value
    #expect(outcomes.map { try? $0.get() } == [1, nil])
  }

  // Fails if a failure settles the result, or an error is lost.
  @Test("Promise.any and AggregateError")
  func any() async {
    let b = failing
    #expect(await Promise.any([a, b]).outcome == "1")
    let a = failing
    await Promise.any([a, b]).catch { error in
      show((error as? AllFailedError)?.errors.count ?? 0)
    }.waitForHandlers()
    #expect(log.all == ["2"])
  }

  // Fails if a failure cannot settle the race; hangs if an empty race is awaited.
  @Test("Promise.race")
  func race() async {
    let deferred = Deferred<Int>()
    let (a, b) = (deferred.promise, failing)
    #expect(await Promise.race([a, b]).outcome == "failed Failed(number: 0)")
    deferred.fulfill(1)
    await #expect(throws: PromiseError.noPromises) { try await Promise<Int>.race([]).value }
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
