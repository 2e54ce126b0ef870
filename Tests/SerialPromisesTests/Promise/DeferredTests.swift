import TestSupport
import Testing

@testable import SerialPromises

/// Settling a promise, and the effect of late or missing attempts.
struct DeferredTests {
  private let reports = Reports()

  // Fails if a late attempt is not reported, or has an effect, or a success and a failure are mixed
  // up.
  @Test("a late fulfill, fail or result is reported and ignored", .shows(Promising.lateAttempts))
  func late() {
    let first = Deferred<Int>("late", diagnostics: reports.place)
    first.settle(with: Result<Int, Never>.success(1))
    first.fulfill(2)
    first.fail(Failed())
    first.settle(with: Result<Int, Failed>.failure(Failed()))
    let failing = Deferred<Int>("late", diagnostics: reports.place)
    // Do not compile without the overload for `any Error`: the error type cannot be inferred.
    failing.settle(with: .failure(Failed()))
    failing.settle(with: .success(1))
    let identities = [first, first, first, failing].map(\.promise.core.origin.identity)
    #expect(reports.all == identities.map { .settledAgain($0) })
    #expect([first, failing].map { text($0.promise.state) } == ["1", "failed Failed(number: 0)"])
  }

  // Fails if an attempt does not return whether it settled the promise, or a late one is reported.
  @Test(
    "tryFulfill and tryFail return whether they settled the promise, and report nothing",
    .shows(Promising.lateAttempts))
  func trying() {
    let deferred = Deferred<Int>("trying", diagnostics: reports.place)
    let attempts = [
      deferred.tryFulfill(1), deferred.tryFulfill(2), deferred.tryFail(Failed()),
    ]
    #expect(attempts == [true, false, false])
    let other = Deferred<Int>("trying", diagnostics: reports.place)
    let others = [other.tryFail(Failed()), other.tryFail(Failed()), other.tryFulfill(1)]
    #expect(others == [true, false, false])
    #expect(text(other.promise.state) == "failed Failed(number: 0)")
    #expect(reports.all.count == 0)
  }

  // Fails if an owner that does not know of a cancellation yet is reported.
  @Test("an attempt after a cancellation is not reported")
  func afterCancel() {
    let deferred = Deferred<Int>("cancelled", diagnostics: reports.place)
    deferred.onCancel {}
    deferred.promise.cancel()
    deferred.fulfill(1)
    deferred.fail(Failed())
    deferred.progress(0.5)
    #expect(!deferred.tryFulfill(1))
    #expect(reports.all.count == 0)
  }

  // Hangs if a promise that can no longer be settled stays pending.
  @Test("a deferred released unsettled fails its promise", .shows(Promising.deferred))
  func abandoned() async {
    let promise = { Deferred<Int>("left", diagnostics: reports.place).promise }()
    let error = PromiseError.abandonedPromise(promise.core.origin.identity)
    #expect(await promise.outcome == "failed \(error)")
    #expect(
      "\(error)"
        == "nothing is left that could settle promise \"left\"; fulfill or fail it on every path")
    #expect(reports.all.count == 0)
  }

  // Fails if a task that drops its two functions, or its deferred, leaves the promise pending.
  @Test("a cold promise whose task retains no way to settle it fails")
  func abandonedTask() async {
    let callbacks = Promise<Int>("callbacks") { _, _ in }
    #expect(await callbacks.outcome.contains("nothing is left"))
    let deferred = Promise<Int>("deferred") { _ in }
    #expect(await deferred.outcome.contains("nothing is left"))
  }
}
