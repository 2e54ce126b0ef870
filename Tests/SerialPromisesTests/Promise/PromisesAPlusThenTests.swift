import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Promises/A+ 2.2.1 to 2.2.5, clause by clause: when a handler is called, and with which argument.
///
/// The two handlers of the specification's `then` belong to separate methods: `then` has the
/// handler for values, `catch`, `recover` and `failed` have the handler for errors. Not applicable
/// in Swift, because the types exclude it: handlers that are not functions (the value part of
/// 2.2.1.1 and 2.2.1.2, 2.2.7.3 and 2.2.7.4; the corresponding missing handler is tested with 2.2.7.3 and
/// 2.2.7.4), and the `this` that 2.2.5 forbids.
@Suite(.allShow(Promising.then)) struct PromisesAPlusThenTests {
  // Fails if a handler is not called, or receives another value or error.
  @Test(
    "2.2.2.1, 2.2.3.1 the handler is called after the settlement, with the value or the error",
    arguments: Moment.allCases)
  func called(_ moment: Moment) async {
    let log = Log<String>()
    await moment.settling(.success("value")) { $0.map { log.append($0) } }.waitForHandlers()
    let failure = Result<Int, any Error>.failure(Failed(number: 5))
    await moment.settling(failure) { $0.catch { log.append("\($0)") } }.waitForHandlers()
    #expect(log.all == ["value", "Failed(number: 5)"])
  }

  // Fails if a handler is called before the promise is settled.
  @Test(
    "2.2.2.2, 2.2.3.2 the handler is not called before the settlement", arguments: [false, true])
  func notBefore(fails: Bool) async {
    let (log, deferred) = (Log<String>(), Deferred<Int>())
    let source = deferred.promise
    let promise =
      fails
      ? source.catch { _ in log.append("handler") } : source.map { _ in log.append("handler") }
    // If the handler were runnable, it would run before this one.
    await Promise.value(0).waitForHandlers()
    log.append("settle")
    if fails { deferred.fail(Failed()) } else { deferred.fulfill(1) }
    await promise.waitForHandlers()
    #expect(log.all == ["settle", "handler"])
  }

  // Fails if a second settlement calls the handlers again.
  @Test(
    "2.2.2.3, 2.2.3.3 the handler is not called more than once", arguments: Moment.allCases,
    [false, true])
  func once(_ moment: Moment, fails: Bool) async {
    let (log, deferred) = (Log<Int>(), Deferred<Int>(diagnostics: .silent))
    if fails {
      deferred.promise.catch { _ in log.append(1) }
    } else {
      deferred.promise.map { log.append($0) }.start()
    }
    let settle = { @Sendable in
      if fails { deferred.fail(Failed()) } else { deferred.fulfill(1) }
    }
    settle()
    if moment == .later { await deferred.promise.waitForHandlers() }
    if moment == .already { settle() } else { onThread(settle) }
    await deferred.promise.waitForHandlers()
    #expect(log.all == [1])
  }

  // Fails if a handler of a promise that is never fulfilled is called, at the latest when the
  // promise is released.
  @Test("2.2.2.2 the handler of a promise that is never fulfilled is never called")
  func neverFulfilled() async {
    let log = Log<Int>()
    do {
      let deferred = Deferred<Int>(diagnostics: .silent)
      deferred.promise.fulfilled { log.append($0) }
    }
    await Promise.value(0).waitForHandlers()
    #expect(log.count == 0)
  }

  // Fails if attaching one handler calls another one again, or prevents it.
  @Test(
    "2.2.2.3 each of several handlers is called once, regardless of the time of fulfillment",
    arguments: 0...3)
  func severalOnce(_ position: Int) async {
    let (log, deferred) = (Log<Int>(), Deferred<Int>())
    for index in 0...3 {
      if index == position { deferred.fulfill(0) }
      deferred.promise.fulfilled { _ in log.append(index) }
    }
    await deferred.promise.waitForHandlers()
    #expect(log.all == [0, 1, 2, 3])
  }

  // MARK: 2.2.4

  // Fails if `then`, or the settlement, calls the handler itself.
  @Test(
    "2.2.4 on the queue of the settling code, the handler is not called before that code has returned",
    arguments: [false, true])
  func afterSettling(fails: Bool) async {
    let (log, deferred, gate) = (Log<String>(), Deferred<Int>(), Gate())
    let queue = DispatchQueue(label: "settling")
    let promise = deferred.promise.finally(on: queue) { log.append("handler") }
    queue.async {
      if fails { deferred.fail(Failed()) } else { deferred.fulfill(1) }
      log.append("settled")
      gate.open()
    }
    await gate.passed()
    await promise.waitForHandlers()
    #expect(log.all == ["settled", "handler"])
  }

  // Hangs if a handler runs on the stack of the code that attached it, which holds this lock.
  @Test("2.2.4 the handler is not called on the stack of the code that attaches or settles")
  func ownStack() async {
    let (log, lock) = (Log<String>(), Locked(0))
    let (early, late) = (Deferred<Int>(), Deferred<Int>())
    var promises: [Promise<Void>] = []
    let attach = { (promise: Promise<Int>) in
      promise.map { _ in
        lock.withLock { $0 += 1 }
        log.append("handler")
      }
    }
    promises.append(attach(early.promise))
    lock.withLock { _ in
      early.fulfill(1)
      late.fulfill(2)
      promises.append(attach(late.promise))
      log.append("outer")
    }
    for promise in promises { await promise.waitForHandlers() }
    #expect(log.all == ["outer", "handler", "handler"])
  }

  // Fails if a handler that is attached in another runs before that one has returned.
  @Test(
    "2.2.4 a handler attached in a handler is called after that one has returned",
    arguments: [false, true])
  func nested(fails: Bool) async {
    let (log, done) = (Log<String>(), Gate())
    let promise = Promise.value(1)
    let failed = Promise<Int>.silentFailure(Failed())
    promise.fulfilled { _ in
      let inner = { @Sendable in
        log.append("inner")
        done.open()
      }
      if fails { failed.failed { _ in inner() } } else { promise.fulfilled { _ in inner() } }
      log.append("outer")
    }
    await done.passed()
    #expect(log.all == ["outer", "inner"])
  }

  // Fails if settling in a handler calls the other promise's handlers inside it.
  @Test(
    "2.2.4 handlers of a promise settled in a handler are called after that handler has returned")
  func settledInHandler() async {
    let (log, other) = (Log<String>(), Deferred<Int>())
    let promise = other.promise.map { _ in log.append("other") }
    Promise.value(1).fulfilled { _ in
      other.fulfill(2)
      log.append("handler")
    }
    await promise.waitForHandlers()
    #expect(log.all == ["handler", "other"])
  }

  // Fails to compile if a handler takes more or less than the value: a plain function can be
  // passed.
  @Test("2.2.5 the handler is called as a function")
  func asFunction() async {
    @Sendable func half(_ number: Int) -> Int { number / 2 }
    #expect(await Promise.value(10).map(half).outcome == "5")
  }
}
