import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// The effect of each chain method on a value and on an error.
struct ChainWordsTests {
  struct OtherError: Error {}

  private let failed = Promise<Int>.silentFailure(Failed(number: 1))

  // Fails if a value of promise type is not kept by `map`, or the adopting overload is chosen for
  // it; if the outcome is not passed on, a thrown error does not replace it, a value is recovered,
  // or an error is not; if an error of another type is caught, or one of the given type is not; or
  // if asynchronous handlers are not awaited.
  @Test(
    "each method of a chain gives the documented outcome",
    .shows(Promising.chainWords, .typedErrors, .asyncHandlers))
  func outcomes() async {
    let (one, error) = (Promise.value(1), "failed Failed(number: 1)")
    await expectOutcomes([
      "2": one.then { Promise.value($0 + 1) },
      "3": one.map { Promise.value($0 + 2) }.then { $0 },
      "1": one.recover { _ in 7 },
      "1": one.recover { _ in Promise.value(8) },
      "7": failed.recover { _ in 7 },
      "8": failed.recover { _ in Promise.value(8) },
      "failed OtherError()": failed.recover { _ in throw OtherError() },
    ])
    await expectOutcomes([
      "11": failed.recover(from: Failed.self) { $0.number + 10 },
      "21": failed.recover(from: Failed.self) { Promise.value($0.number + 20) },
      error: failed.recover(from: OtherError.self) { _ in 0 },
      error: failed.recover(from: OtherError.self) { _ in Promise.value(0) },
      "failed OtherError()": one.finally { throw OtherError() },
      "failed OtherError()": failed.finally { throw OtherError() },
    ])
    let pause = { @Sendable (value: Int) async in
      await Task.yield()
      return value
    }
    await expectOutcomes([
      "2": one.map { await pause($0 + 1) },
      "3": one.then { Promise.value(await pause($0 + 2)) },
      "4": failed.recover { _ in await pause(4) },
    ])
    let throwing = one.map { value async throws -> Int in throw Failed(number: await pause(value)) }
    #expect(await throwing.outcome == error)
  }

  // Fails if a handler is not called, or changes the outcome; or if `catch` calls its handler for a
  // value, or leaves the chain failed.
  @Test(
    "tap and finally run for every outcome and pass it on, and catch ends a chain",
    .shows(Promising.chainWords, .asyncHandlers))
  func passing() async {
    let (one, log) = (Promise.value(1), Log<String>())
    let note = { @Sendable (text: String) async in
      await Task.yield()
      log.append(text)
    }
    #expect(await one.tap { log.append("\($0)") }.outcome == "1")
    #expect(await one.finally { log.append("finally") }.outcome == "1")
    for promise in [
      failed.tap { log.append("\($0)") }, failed.finally { log.append("finally") },
      failed.finally { await note("later") },
    ] { #expect(await promise.outcome == "failed Failed(number: 1)") }
    await expectOutcomes([
      "()": one.catch { log.append("\($0)") },
      "()": failed.catch { log.append("\($0)") },
      "failed OtherError()": failed.catch { _ in throw OtherError() },
    ])
    let failure = "Failed(number: 1)"
    let tapped = ["success(1)", "finally", "failure(SerialPromisesTests.\(failure))", "finally"]
    #expect(log.all.filter { $0 != "later" } == tapped + [failure])
    #expect(log.all.contains("later"))
  }

  // Fails if the task of an asynchronous handler starts independently: another could begin before
  // it.
  @Test(
    "asynchronous handlers begin in the order of attachment", .shows(Promising.asyncHandlers),
    .enabled(if: tasksStartHere))
  func asynchronousOrder() async {
    let (log, deferred, gate) = (Log<Int>(), Deferred<Int>(), Gate())
    for index in 0..<100 {
      deferred.promise.map { _ in
        log.append(index)
        await gate.passed()
      }.start()
    }
    deferred.fulfill(1)
    await deferred.promise.waitForHandlers()
    #expect(log.all == Array(0..<100))
    gate.open()
  }

  // Fails if a callback creates another promise.
  @Test("callbacks return the promise they are attached to", .shows(Promising.callbacks))
  func callbacks() {
    let deferred = Deferred<Int>("callbacks", diagnostics: .silent)
    let promise = deferred.promise
    #expect(promise.fulfilled { _ in }.core === promise.core)
    #expect(promise.failed { _ in }.core === promise.core)
    #expect(promise.progressed { _ in }.core === promise.core)
    #expect(promise.start().core === promise.core)
    #expect(promise.fulfilled { @MainActor _ in }.core === promise.core)
  }

  // Fails if a canceled chain does not clean up, or cleans up again when its source ends.
  @Test("canceling a chain runs its finally, once", arguments: 0..<4)
  func cleansUp(way: Int) async {
    let (log, gate, clock) = (Log<Int>(), Gate(), ManualClock())
    let source = Deferred<Int>(diagnostics: .silent)
    let cleanUp = { @Sendable in
      log.append(way)
      gate.open()
      throw Failed()
    }
    let chain =
      switch way {
      case 0: source.promise.finally(cleanUp)
      case 1: source.promise.finally(on: DispatchQueue(label: "clean up"), cleanUp)
      case 2: source.promise.finally { () async throws in try cleanUp() }
      default: source.promise.finally(cleanUp).map { $0 }.timeout(.seconds(1), clock: clock)
      }
    if way == 3 {
      await clock.elapse(.seconds(1))
    } else {
      #expect(chain.map { $0 }.cancel())
      #expect(await chain.outcome == "failed CancellationError()")
    }
    await gate.passed()
    source.fulfill(1)
    await source.promise.waitForHandlers()
    #expect(log.all == [way])
  }
}
