import TestSupport
import Testing

@testable import SerialPromises

/// Settling a promise, and the effect of late or missing attempts.
struct DeferredTests {
  private let reports = Reports()

  // Fails if a late attempt is not reported, or has an effect.
  @Test("a late fulfill or fail is reported and ignored", .shows(Promising.lateAttempts))
  func late() {
    let deferred = Deferred<Int>("late", diagnostics: reports.place)
    deferred.fulfill(1)
    deferred.fulfill(2)
    deferred.fail(Failed())
    let identity = deferred.promise.core.origin.identity
    #expect(reports.all == [.settledAgain(identity), .settledAgain(identity)])
    #expect(text(deferred.promise.state) == "1")
  }

  // Fails if an attempt does not return whether it settled the promise, or a late one is reported.
  @Test(
    "tryFulfill and tryFail return whether they settled the promise, and report nothing",
    .shows(Promising.lateAttempts))
  func trying() {
    let deferred = Deferred<Int>("trying", diagnostics: reports.place)
    #expect(deferred.tryFulfill(1))
    #expect(!deferred.tryFulfill(2))
    #expect(!deferred.tryFail(Failed()))
    let other = Deferred<Int>("trying", diagnostics: reports.place)
    #expect(other.tryFail(Failed()))
    #expect(!other.tryFail(Failed()))
    #expect(!other.tryFulfill(1))
    #expect(text(other.promise.state) == "failed Failed(number: 0)")
    #expect(reports.all.count == 0)
  }

  // Fails if a success and a failure are mixed up, or a late result is not reported or has an
  // effect.
  @Test("a result settles the promise, and a late one is reported", .shows(Promising.lateAttempts))
  func results() {
    let deferred = Deferred<Int>("result", diagnostics: reports.place)
    deferred.settle(with: Result<Int, Never>.success(1))
    deferred.settle(with: Result<Int, Failed>.failure(Failed()))
    #expect(reports.all == [.settledAgain(deferred.promise.core.origin.identity)])
    #expect(text(deferred.promise.state) == "1")
    let failing = Deferred<Int>("result", diagnostics: reports.place)
    // Do not compile without the overload for `any Error`: the error type cannot be inferred.
    failing.settle(with: .failure(Failed()))
    failing.settle(with: .success(1))
    #expect(reports.all.count == 2)
    #expect(text(failing.promise.state) == "failed Failed(number: 0)")
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
