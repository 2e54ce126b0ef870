import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// The effect of each chain method on a value and on an error.
struct ChainWordsTests {
  struct OtherError: Error {}

  private let failed = Promise<Int>.silentFailure(Failed(number: 1))

  // Fails if a value of promise type is not kept by `map`, or the adopting overload is chosen for
  // it.
  @Test("then flattens a promise, map does not", .shows(Promising.chainWords))
  func thenAndMap() async throws {
    let flat: Promise<Int> = Promise.value(1).then { Promise.value($0 + 1) }
    #expect(await flat.outcome == "2")
    let nested: Promise<Promise<Int>> = Promise.value(1).map { Promise.value($0 + 1) }
    #expect(try await nested.value.value == 2)
    #expect(await nested.then { $0 }.outcome == "2")
  }

  // Fails if `tap` changes the outcome.
  @Test("tap reads the outcome and passes it on", .shows(Promising.chainWords))
  func tap() async {
    let log = Log<String>()
    #expect(await Promise.value(1).tap { log.append("\($0)") }.outcome == "1")
    #expect(await failed.tap { log.append("\($0)") }.outcome == "failed Failed(number: 1)")
    #expect(log.all == ["success(1)", "failure(SerialPromisesTests.Failed(number: 1))"])
  }

  // Fails if the outcome is not passed on, or a thrown error does not replace it.
  @Test(
    "finally runs for every outcome and passes it on, unless it throws",
    .shows(Promising.chainWords))
  func finally() async {
    let log = Log<Int>()
    #expect(await Promise.value(1).finally { log.append(1) }.outcome == "1")
    #expect(await failed.finally { log.append(2) }.outcome == "failed Failed(number: 1)")
    #expect(log.all == [1, 2])
    #expect(await Promise.value(1).finally { throw OtherError() }.outcome == "failed OtherError()")
    #expect(await failed.finally { throw OtherError() }.outcome == "failed OtherError()")
  }

  // Fails if a value is recovered, or an error is not.
  @Test("recover replaces an error with a value or a promise", .shows(Promising.chainWords))
  func recover() async {
    #expect(await failed.recover { _ in 7 }.outcome == "7")
    #expect(await failed.recover { _ in Promise.value(8) }.outcome == "8")
    #expect(await failed.recover { _ in throw OtherError() }.outcome == "failed OtherError()")
    #expect(await Promise.value(1).recover { _ in 7 }.outcome == "1")
    #expect(await Promise.value(1).recover { _ in Promise.value(8) }.outcome == "1")
  }

  // Fails if an error of another type is caught, or one of the given type is not.
  @Test(
    "recover(from:) handles errors of one type, and passes others on",
    .shows(Promising.typedErrors))
  func recoverFrom() async {
    #expect(await failed.recover(from: Failed.self) { $0.number + 10 }.outcome == "11")
    let promise = failed.recover(from: Failed.self) { Promise.value($0.number + 20) }
    #expect(await promise.outcome == "21")
    let passing = failed.recover(from: OtherError.self) { _ in 0 }
    #expect(await passing.outcome == "failed Failed(number: 1)")
    let other = failed.recover(from: OtherError.self) { _ in Promise.value(0) }
    #expect(await other.outcome == "failed Failed(number: 1)")
  }

  // Fails if `catch` calls its handler for a value, or leaves the chain failed.
  @Test("catch ends a chain", .shows(Promising.chainWords))
  func catching() async {
    let log = Log<String>()
    #expect(await failed.catch { log.append("\($0)") }.outcome == "()")
    #expect(await Promise.value(1).catch { log.append("\($0)") }.outcome == "()")
    #expect(log.all == ["Failed(number: 1)"])
    #expect(await failed.catch { _ in throw OtherError() }.outcome == "failed OtherError()")
  }

  // Fails if asynchronous handlers are not awaited, or their errors are lost.
  @Test("handlers may be asynchronous", .shows(Promising.asyncHandlers))
  func asynchronous() async {
    let log = Log<String>()
    let pause = { @Sendable in await Task.yield() }
    let then = Promise.value(1).map { value in
      await pause()
      return value + 1
    }
    #expect(await then.outcome == "2")
    let flat: Promise<Int> = Promise.value(1).then { value in
      await pause()
      return Promise.value(value + 2)
    }
    #expect(await flat.outcome == "3")
    let throwing = Promise.value(1).map { value -> Int in
      await pause()
      throw Failed(number: value)
    }
    #expect(await throwing.outcome == "failed Failed(number: 1)")
    let recovered = failed.recover { _ in
      await pause()
      return 4
    }
    #expect(await recovered.outcome == "4")
    let finally = failed.finally {
      await pause()
      log.append("finally")
    }
    #expect(await finally.outcome == "failed Failed(number: 1)")
    #expect(log.all == ["finally"])
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
      await clock.waitForSleeper()
      clock.advance(by: .seconds(1))
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
