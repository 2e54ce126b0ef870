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
    let second = { @Sendable (value: Int) in
      log.append("second")
      return Promise.value(value)
    }
    await expectOutcomes([
      "20": chain(initial: 1, steps), "30": chain(initial: Promise { 2 }, steps),
      "5": chain(initial: 5, []),
      "failed Failed(number: 0)": chain(initial: 1, [{ _ in throw Failed() }, second]),
    ])
    #expect(log.all.isEmpty)
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
      #expect(await all.outcome == "failed the promise at 0 failed: Failed(number: 0)")
    }
  }

  // Hangs if the promise of a refused step leaves the result pending.
  @Test("serially fails when a step is refused")
  func seriallyFailing() async {
    let closed = PromiseManager(diagnostics: .silent)
    closed.close()
    let refused = await closed.serially([Promise<Int> { 1 }]).outcome
    #expect(refused == "failed the promise at 0 failed: \(PromiseError.closed)")
  }
}
