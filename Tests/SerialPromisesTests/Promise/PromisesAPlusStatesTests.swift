import TestSupport
import Testing

@testable import SerialPromises

/// Promises/A+ 2.1, clause by clause: the states of a promise.
@Suite(.allShow(Promising.states)) struct PromisesAPlusStatesTests {
  // Fails if a fulfilled promise can still fail, or calls a failure handler.
  @Test("2.1.2.1 a fulfilled promise calls no failure handler", arguments: Moment.allCases)
  func fulfilled(_ moment: Moment) async {
    let log = Log<String>()
    let promise = moment.settling(.success(1)) { promise in
      promise.fulfilled { log.append("\($0)") }.failed { log.append("\($0)") }
    }
    await promise.waitForHandlers()
    #expect(log.all == ["1"])
  }

  // Fails if the second call takes effect, or both do.
  @Test("2.1.2.1 a fulfilled promise cannot fail", arguments: Moment.allCases)
  func fulfilledThenFailed(_ moment: Moment) async {
    let (log, deferred) = (Log<String>(), Deferred<Int>(diagnostics: .silent))
    deferred.promise.fulfilled { log.append("\($0)") }.failed { log.append("\($0)") }
    let (first, second) = (Gate(), Gate())
    let settle = { @Sendable in
      deferred.fulfill(1)
      if moment == .later { first.block() }
      deferred.fail(Failed())
      second.open()
    }
    if moment == .already { settle() } else { onOwnThread(settle) }
    await deferred.promise.waitForHandlers()
    first.open()
    await second.passed()
    await deferred.promise.waitForHandlers()
    #expect(log.all == ["1"])
    #expect(text(deferred.promise.state) == "1")
  }

  // Fails if the value can change.
  @Test("2.1.2.2 the value of a fulfilled promise does not change")
  func valueStays() async {
    let deferred = Deferred<Int>(diagnostics: .silent)
    deferred.fulfill(1)
    deferred.fulfill(2)
    #expect(text(deferred.promise.state) == "1")
    #expect(await deferred.promise.outcome == "1")
  }

  // Fails if a failed promise can still be fulfilled, or calls a fulfillment handler.
  @Test("2.1.3.1 a failed promise calls no fulfillment handler", arguments: Moment.allCases)
  func failed(_ moment: Moment) async {
    let log = Log<String>()
    let promise = moment.settling(Result<Int, any Error>.failure(Failed())) { promise in
      promise.fulfilled { log.append("\($0)") }.failed { log.append("\($0)") }
    }
    await promise.waitForHandlers()
    #expect(log.all == ["Failed(number: 0)"])
  }

  // Fails if the second call takes effect, or both do.
  @Test("2.1.3.1 a failed promise cannot be fulfilled", arguments: Moment.allCases)
  func failedThenFulfilled(_ moment: Moment) async {
    let (log, deferred) = (Log<String>(), Deferred<Int>(diagnostics: .silent))
    deferred.promise.fulfilled { log.append("\($0)") }.failed { log.append("\($0)") }
    let (first, second) = (Gate(), Gate())
    let settle = { @Sendable in
      deferred.fail(Failed(number: 1))
      if moment == .later { first.block() }
      deferred.fulfill(1)
      second.open()
    }
    if moment == .already { settle() } else { onOwnThread(settle) }
    await deferred.promise.waitForHandlers()
    first.open()
    await second.passed()
    await deferred.promise.waitForHandlers()
    #expect(log.all == ["Failed(number: 1)"])
    #expect(text(deferred.promise.state) == "failed Failed(number: 1)")
  }

  // Fails if the error can change.
  @Test("2.1.3.2 the error of a failed promise does not change")
  func errorStays() async {
    let deferred = Deferred<Int>(diagnostics: .silent)
    deferred.fail(Failed(number: 1))
    deferred.fail(Failed(number: 2))
    #expect(await deferred.promise.outcome == "failed Failed(number: 1)")
  }
}
