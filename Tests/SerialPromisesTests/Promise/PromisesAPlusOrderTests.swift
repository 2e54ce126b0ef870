import TestSupport
import Testing

@testable import SerialPromises

/// Promises/A+ 2.2.6 and 2.2.7, clause by clause: several handlers, and the result of `then`.
@Suite(.allShow(Promising.then)) struct PromisesAPlusOrderTests {
  /// The kinds of handlers in a test of their order: `finally` is the last, and starts a task.
  private let kinds = tasksStartHere ? 4 : 3

  // Fails if a handler that is attached by another is called before the existing ones.
  @Test(
    "2.2.6.1, 2.2.6.2 a handler that is attached in a handler is called last",
    arguments: Moment.allCases, [false, true])
  func attachedInHandler(_ moment: Moment, fails: Bool) async {
    let (log, done) = (Log<Int>(), Gate())
    moment.settling(fails ? .failure(Failed()) : .success(1)) { (promise: Promise<Int>) in
      let attach = { @Sendable (handler: @escaping @Sendable () -> Void) -> Void in
        if fails { promise.failed { _ in handler() } } else { promise.fulfilled { _ in handler() } }
      }
      // Attached before the handlers can be called, to fix the order.
      let attached = Gate()
      attach {
        attached.block()
        log.append(1)
        attach {
          log.append(4)
          done.open()
        }
      }
      attach { log.append(2) }
      attach { log.append(3) }
      attached.open()
    }
    await done.passed()
    #expect(log.all == [1, 2, 3, 4])
  }

  // Fails if handlers of one promise are called in another order, or one prevents another.
  @Test("2.2.6.1 all fulfillment handlers are called, in order", arguments: Moment.allCases)
  func fulfillmentOrder(_ moment: Moment) async {
    let log = Log<Int>()
    let promise = moment.settling(.success(1)) { promise in
      for index in 0..<100 {
        switch index % kinds {
        case 0: promise.fulfilled { _ in log.append(index) }
        case 1: promise.map { _ in log.append(index) }.start()
        case 2:
          promise.map { _ in
            log.append(index)
            throw Failed()
          }.catch { _ in }
        default: promise.finally { log.append(index) }
        }
      }
      return promise
    }
    await promise.waitForHandlers()
    #expect(log.all == Array(0..<100))
  }

  // Fails if the result of one handler reaches the promise of another.
  @Test(
    "2.2.6.1, 2.2.6.2 several handlers make several chains", arguments: Moment.allCases,
    [false, true])
  func branches(_ moment: Moment, fails: Bool) async {
    let promises = moment.settling(fails ? .failure(Failed()) : .success(0)) { promise in
      [2, nil, 3].map { (result: Int?) in
        let handler = { @Sendable in
          guard let result else { throw Failed(number: 2) }
          return result
        }
        return fails ? promise.recover { _ in try handler() } : promise.map { _ in try handler() }
      }
    }
    #expect(await promises[0].outcome == "2")
    #expect(await promises[1].outcome == "failed Failed(number: 2)")
    #expect(await promises[2].outcome == "3")
  }

  // Fails if handlers of one promise are called in another order, or one prevents another.
  @Test("2.2.6.2 all failure handlers are called, in order", arguments: Moment.allCases)
  func failureOrder(_ moment: Moment) async {
    let log = Log<Int>()
    let failure = Result<Int, any Error>.failure(Failed())
    let promise = moment.settling(failure) { promise in
      for index in 0..<100 {
        switch index % kinds {
        case 0: promise.failed { _ in log.append(index) }
        case 1: promise.catch { _ in log.append(index) }
        case 2:
          promise.catch { _ in
            log.append(index)
            throw Failed()
          }.catch { _ in }
        default: promise.finally { log.append(index) }.catch { _ in }
        }
      }
      return promise
    }
    await promise.waitForHandlers()
    #expect(log.all == Array(0..<100))
  }

  // Fails if `then` returns the same promise.
  @Test("2.2.7 then returns another promise")
  func returnsPromise() {
    let promise = Promise.value(1)
    #expect(promise.map { $0 }.core !== promise.core)
  }

  // Fails if the new promise does not have the handler's value.
  @Test("2.2.7.1 the new promise has the handler's value", arguments: Moment.allCases)
  func handlersValue(_ moment: Moment) async {
    #expect(
      await moment.settling(.success(1)) { $0.map { "\($0) and more" } }.outcome == "1 and more")
    let failure = Result<Int, any Error>.failure(Failed())
    #expect(await moment.settling(failure) { $0.recover { _ in 6 } }.outcome == "6")
  }

  // Fails if an error that a handler throws is lost or replaced.
  @Test("2.2.7.2 a handler that throws fails the new promise", arguments: Moment.allCases)
  func throwing(_ moment: Moment) async {
    let first = moment.settling(.success(1)) { $0.map { throw Failed(number: $0) } }
    #expect(await first.outcome == "failed Failed(number: 1)")
    let failure = Result<Int, any Error>.failure(Failed(number: 2))
    let second = moment.settling(failure) { $0.recover { _ in throw Failed(number: 3) } }
    #expect(await second.outcome == "failed Failed(number: 3)")
    let third = moment.settling(failure) { $0.catch { _ in throw CancellationError() } }
    #expect(await third.outcome == "failed CancellationError()")
  }

  // Fails if a method without a handler for values does not pass the value on.
  @Test("2.2.7.3 without a fulfillment handler, the value is passed on", arguments: Moment.allCases)
  func valueIsPassedOn(_ moment: Moment) async {
    #expect(await moment.settling(.success(1)) { $0.recover { _ in 2 } }.outcome == "1")
    #expect(await moment.settling(.success(1)) { $0.finally {} }.outcome == "1")
  }

  // Fails if a method without a handler for errors does not pass the error on.
  @Test("2.2.7.4 without a failure handler, the error is passed on", arguments: Moment.allCases)
  func errorIsPassedOn(_ moment: Moment) async {
    let failure = Result<Int, any Error>.failure(Failed(number: 4))
    let expected = "failed Failed(number: 4)"
    #expect(await moment.settling(failure) { $0.then { .value($0 + 1) } }.outcome == expected)
    #expect(await moment.settling(failure) { $0.map { $0 + 1 } }.outcome == expected)
    #expect(await moment.settling(failure) { $0.finally {} }.outcome == expected)
  }
}
