import TestSupport
import Testing

@testable import SerialPromises

/// Promises of promises, `chain`, `relay` and `serially`.
struct JoiningTests {
  // Fails if the inner promise is not awaited, or more than one level is flattened.
  @Test("then { $0 } flattens a promise of a promise by one level", .shows(Promising.join))
  func join() async throws {
    let inner = Deferred<Promise<Int>>()
    let joined = Promise.value(inner.promise).then { $0 }
    inner.fulfill(.value(4))
    #expect(try await joined.value.value == 4)
    #expect(try await joined.then { $0 }.value == 4)
    #expect(await Promise<Promise<Int>>.failure(Failed()).then { $0 }.outcome.contains("Failed"))
  }

  // Fails if the order of the steps changes, or a step runs after a failure.
  @Test("chain passes a value through its steps, and stops at a failure", .shows(Promising.chain))
  func chaining() async {
    let log = Log<String>()
    let steps: [@Sendable (Int) throws -> Promise<Int>] = [
      { .value($0 + 1) }, { .value($0 * 10) },
    ]
    #expect(await chain(initial: 1, steps).outcome == "20")
    #expect(await chain(initial: Promise { 2 }, steps).outcome == "30")
    #expect(await chain(initial: 5, []).outcome == "5")
    let failing = chain(
      initial: 1,
      [
        { _ in throw Failed() },
        { value in
          log.append("second")
          return .value(value)
        },
      ])
    #expect(await failing.outcome == "failed Failed(number: 0)")
    #expect(log.all.isEmpty)
  }

  // Fails if a plain value counts as work, or each link of a promise is counted.
  @Test(
    "in the progress of chain each of N steps counts 1/N, or 1/(N+1) after a promise",
    .shows(Progressing.chain))
  func chainProgress() async {
    let deferreds = (0..<4).map { _ in Deferred<Int>() }
    let steps = deferreds[..<2].map { deferred in
      { @Sendable (_: Int) in deferred.promise }
    }
    let plain = chain(initial: 0, steps)
    deferreds[0].progress(0.5)
    await plain.reached(0.25)
    deferreds[0].fulfill(1)
    deferreds[1].progress(0.5)
    await plain.reached(0.75)
    deferreds[1].fulfill(1)
    #expect(await plain.outcome == "1")

    let begin = deferreds[2].promise.map { $0 }.map { $0 }
    let after = chain(initial: begin, [{ _ in deferreds[3].promise }])
    deferreds[2].fulfill(1)
    await after.reached(0.5)
    deferreds[3].progress(0.5)
    await after.reached(0.75)
    deferreds[3].fulfill(1)
    #expect(await after.outcome == "1")
  }

  // Fails if a value, error or progress is not forwarded, or the deferred can be settled elsewhere.
  @Test("relay forwards value, error and progress to a deferred", .shows(Promising.relay))
  func relay() async {
    let (reports, log) = (Reports(), Log<Double>())
    let target = Deferred<Int>("target", diagnostics: reports.place)
    target.promise.progressed { log.append($0) }
    let source = Deferred<Int>()
    source.promise.relay(to: target)
    source.progress(0.5)
    target.fulfill(9)
    #expect(!target.tryFail(Failed()))
    source.fulfill(1)
    #expect(await target.promise.outcome == "1")
    await target.promise.waitForHandlers()
    #expect(log.all == [0.5, 1])
    #expect(reports.all.count == 1)

    let failing = Deferred<Int>()
    Promise<Int> { throw Failed() }.relay(to: failing)
    #expect(await failing.promise.outcome == "failed Failed(number: 0)")
  }

  // Fails, about once in several hundred rounds, if a step canceled by the policy reports on
  // another thread before the failure that caused the cancellation.
  @Test(
    "serially fails with the error of the step that failed, not of one that the policy canceled")
  func seriallyReportsTheCause() async {
    for _ in 0..<(isLong ? 50_000 : 1_000) {
      let manager = PromiseManager(onFailure: .cancelRest, diagnostics: .silent)
      let all = manager.serially([Promise<Int> { throw Failed() }, Promise<Int> { 1 }])
      let failure = await #expect(throws: WhenError<Int>.self) { try await all.value }
      #expect(failure?.position == 0)
    }
  }

  // Hangs if the promise of a refused step leaves the result pending.
  @Test("serially fails when a step is refused")
  func seriallyFailing() async {
    let closed = PromiseManager(diagnostics: .silent)
    closed.close()
    let refused = await #expect(throws: WhenError<Int>.self) {
      try await closed.serially([Promise<Int> { 1 }]).value
    }
    #expect(refused?.underlying as? PromiseError == .closed)
  }
}

extension Promise {
  /// Waits until the promise has reached exactly this progress.
  fileprivate func reached(_ fraction: Double) async {
    let gate = Gate()
    progressed { if $0 == fraction { gate.open() } }
    await gate.passed()
  }
}
