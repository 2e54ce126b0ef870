import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Promises/A+ 2.1 to 2.3 as a table of clauses, each tried with every way in which a promise ends.
///
/// The two handlers of the specification's `then` belong to separate methods: `then` and `map` have
/// the handler for values, `catch`, `recover` and `failed` have the handler for errors. Not
/// applicable in Swift, because the types exclude it: handlers that are not functions (the value
/// part of 2.2.1.1, 2.2.1.2, 2.2.7.3 and 2.2.7.4; the missing handler is tested with 2.2.7.3 and
/// 2.2.7.4), the `this` that 2.2.5 forbids, and 2.3.3.1, 2.3.3.2 and 2.3.3.4, which look up `then`
/// in any object. The clauses of 2.3.3.3 on the two functions passed to a foreign `then` are tested
/// with the functions passed to a cold promise's task.
struct PromisesAPlusTests {
  /// How a promise ends, and when.
  struct Way: Sendable {
    let moment: Moment
    let fails: Bool

    static let all = Moment.allCases.flatMap { moment in
      [false, true].map { Way(moment: moment, fails: $0) }
    }

    var outcome: String { fails ? "failed Failed(number: 1)" : "1" }

    func settle(_ deferred: Deferred<Int>) {
      if fails { deferred.fail(Failed(number: 1)) } else { deferred.fulfill(1) }
    }

    func settling<Attached>(_ attach: (Promise<Int>) -> Attached) -> Attached {
      moment.settling(fails ? .failure(Failed(number: 1)) : .success(1), attach)
    }

    /// Attaches a callback for this outcome.
    func callback(_ promise: Promise<Int>, _ handler: @escaping @Sendable () -> Void) {
      if fails { promise.failed { _ in handler() } } else { promise.fulfilled { _ in handler() } }
    }

    /// Attaches a link with a handler for this outcome.
    @discardableResult
    func link(
      _ promise: Promise<Int>, _ handler: @escaping @Sendable () throws -> Void
    ) -> Promise<Void> {
      let link =
        fails ? promise.catch { _ in try handler() } : promise.map { _ in try handler() }
      return link.start()
    }

    /// Continues with the value of a handler for this outcome.
    func continued(
      _ promise: Promise<Int>, _ handler: @escaping @Sendable () throws -> Int
    ) -> Promise<Int> {
      fails ? promise.recover { _ in try handler() } : promise.map { _ in try handler() }
    }

    /// A promise that the handler for this outcome resolves with another one.
    func resolved(_ make: @escaping @Sendable () throws -> Promise<Int>) -> Promise<Int> {
      fails
        ? Promise<Int>.failure(Failed()).recover { _ in try make() }
        : Promise.value(0).then { _ in try make() }
    }
  }

  /// A clause: what happens, and what is logged.
  struct Clause: Sendable, CustomTestStringConvertible {
    typealias Act = @Sendable (Way, Log<String>) async throws -> Void

    let testDescription: String
    let expected: @Sendable (Way) -> [String]
    let act: Act

    /// A clause on what is logged: the outcome of the way, unless something else is expected.
    init(_ text: String, _ expected: [String]? = nil, times: Int = 1, _ act: @escaping Act) {
      (testDescription, self.act) = (text, act)
      self.expected = { expected ?? Array(repeating: $0.outcome, count: times) }
    }

    /// A clause on the outcome of a promise.
    init(
      _ text: String, _ expected: String? = nil, promise: @escaping @Sendable (Way) -> Promise<Int>
    ) {
      self.init(text, expected.map { [$0] }) { way, log in log.append(await promise(way).outcome) }
    }

    func check(_ way: Way) async throws {
      let log = Log<String>()
      try await act(way, log)
      #expect(log.all == expected(way))
    }
  }

  @Test("2.1 a promise ends once", .shows(Promising.states), arguments: Clause.states, Way.all)
  func states(_ clause: Clause, _ way: Way) async throws { try await clause.check(way) }

  @Test(
    "2.2 a handler is called once, later, in order, and decides how the new promise ends",
    .shows(Promising.then), arguments: Clause.then, Way.all)
  func then(_ clause: Clause, _ way: Way) async throws { try await clause.check(way) }

  @Test(
    "2.3 a promise that is resolved with another one ends as that one does",
    .shows(Promising.resolution), arguments: Clause.resolution, Way.all)
  func resolution(_ clause: Clause, _ way: Way) async throws { try await clause.check(way) }
}

// MARK: 2.1

extension PromisesAPlusTests.Clause {
  static let states = [
    // Fails if a settled promise calls handlers of the other outcome.
    Self("2.1.2.1, 2.1.3.1 a promise calls the handlers of its outcome only") { way, log in
      let promise = way.settling { promise in
        promise.fulfilled { log.append("\($0)") }.failed { log.append("failed \($0)") }
      }
      await promise.waitForHandlers()
    },
    // Fails if a second call takes effect: the state, the value or the error changes, or both kinds
    // of handlers are called.
    Self("2.1.2, 2.1.3 a settled promise keeps its value or error", times: 4) { way, log in
      for failsAgain in [false, true] {
        let deferred = Deferred<Int>(diagnostics: .silent)
        deferred.promise.fulfilled { log.append("\($0)") }.failed { log.append("failed \($0)") }
        let (first, second) = (Gate(), Gate())
        let settle = { @Sendable in
          way.settle(deferred)
          if way.moment == .later { first.block() }
          if failsAgain { deferred.fail(Failed(number: 2)) } else { deferred.fulfill(2) }
          second.open()
        }
        if way.moment == .already { settle() } else { onOwnThread(settle) }
        await deferred.promise.waitForHandlers()
        first.open()
        await second.passed()
        await deferred.promise.waitForHandlers()
        log.append(await deferred.promise.outcome)
      }
    },
  ]
}

// MARK: 2.2

extension PromisesAPlusTests.Clause {
  static let then = called + called224 + several

  private static let called = [
    // Fails if a handler is not called, or receives another value or error.
    Self("2.2.2.1, 2.2.3.1 the handler is called, with the value or the error") { way, log in
      let promise = way.settling { promise in
        way.fails
          ? promise.catch { log.append("failed \($0)") } : promise.map { log.append("\($0)") }
      }
      await promise.waitForHandlers()
    },
    // Fails if a handler is called before the promise is settled.
    Self("2.2.2.2, 2.2.3.2 not before the settlement", ["settle", "handler"]) { way, log in
      let deferred = Deferred<Int>()
      let promise = way.link(deferred.promise) { log.append("handler") }
      // If the handler were runnable, it would run before this one.
      await Promise.value(0).waitForHandlers()
      log.append("settle")
      way.settle(deferred)
      await promise.waitForHandlers()
    },
    // Fails if a second settlement calls the handlers again.
    Self("2.2.2.3, 2.2.3.3 not more than once", ["handler"]) { way, log in
      let deferred = Deferred<Int>(diagnostics: .silent)
      way.link(deferred.promise) { log.append("handler") }
      way.settle(deferred)
      if way.moment == .later { await deferred.promise.waitForHandlers() }
      if way.moment == .already { way.settle(deferred) } else { onThread { way.settle(deferred) } }
      await deferred.promise.waitForHandlers()
    },
    // Fails if a handler of a promise that is never fulfilled is called, at the latest when the
    // promise is released.
    Self("2.2.2.2 not if the promise is never fulfilled", []) { _, log in
      do {
        let deferred = Deferred<Int>(diagnostics: .silent)
        deferred.promise.fulfilled { log.append("\($0)") }
      }
      await Promise.value(0).waitForHandlers()
    },
    // Fails if attaching one handler calls another one again, or prevents it.
    Self("2.2.2.3 each of several once, whenever it is attached", ["1", "2", "3"]) { way, log in
      let deferred = Deferred<Int>()
      let position = Moment.allCases.firstIndex(of: way.moment)
      for index in 0..<3 {
        if index == position { way.settle(deferred) }
        way.callback(deferred.promise) { log.append("\(index + 1)") }
      }
      await deferred.promise.waitForHandlers()
    },
  ]

  private static let called224 = [
    // Fails if `then`, or the settlement, calls the handler itself.
    Self("2.2.4 not before the code on its queue returns", ["settled", "handler"]) { way, log in
      let (deferred, gate) = (Deferred<Int>(), Gate())
      let queue = DispatchQueue(label: "settling")
      let promise = deferred.promise.finally(on: queue) { log.append("handler") }
      queue.async {
        way.settle(deferred)
        log.append("settled")
        gate.open()
      }
      await gate.passed()
      await promise.waitForHandlers()
    },
    // Hangs if a handler runs on the stack of the code that attached it, which holds this lock.
    Self("2.2.4 not on the stack that attaches or settles", ["outer", "one", "one"]) { way, log in
      let (early, late, lock) = (Deferred<Int>(), Deferred<Int>(), Locked(0))
      let attach = { @Sendable (deferred: Deferred<Int>) in
        way.link(deferred.promise) {
          lock.withLock { $0 += 1 }
          log.append("one")
        }
      }
      let first = attach(early)
      let last = lock.withLock { _ in
        way.settle(early)
        way.settle(late)
        let last = attach(late)
        log.append("outer")
        return last
      }
      for promise in [first, last] { await promise.waitForHandlers() }
    },
    // Fails if a handler that is attached in another runs before that one has returned.
    Self("2.2.4 a handler attached in a handler: after it", ["outer", "inner"]) { way, log in
      let (promise, done) = (Promise.value(1), Gate())
      let other = way.fails ? Promise<Int>.silentFailure(Failed()) : promise
      promise.fulfilled { _ in
        way.callback(other) {
          log.append("inner")
          done.open()
        }
        log.append("outer")
      }
      await done.passed()
    },
    // Fails if settling in a handler calls the other promise's handlers inside it.
    Self("2.2.4 those of a promise settled in a handler: after it", ["1st", "2nd"]) { way, log in
      let other = Deferred<Int>()
      let promise = way.link(other.promise) { log.append("2nd") }
      Promise.value(1).fulfilled { _ in
        way.settle(other)
        log.append("1st")
      }
      await promise.waitForHandlers()
    },
    // Fails to compile if a handler takes more or less than the value: a plain function can be
    // passed.
    Self("2.2.5 the handler is called as a function", "5") { _ in
      @Sendable func half(_ number: Int) -> Int { number / 2 }
      return Promise.value(10).map(half)
    },
  ]

  private static let several = [
    // Fails if a handler that is attached by another is called before the existing ones.
    Self("2.2.6 a handler attached in a handler is called last", ["1", "2", "3", "4"]) { way, log in
      let done = Gate()
      way.settling { promise in
        // Attached before the handlers can be called, to fix the order.
        let attached = Gate()
        way.callback(promise) {
          attached.block()
          log.append("1")
          way.callback(promise) {
            log.append("4")
            done.open()
          }
        }
        for number in 2...3 { way.callback(promise) { log.append("\(number)") } }
        attached.open()
      }
      await done.passed()
    },
    // Fails if handlers of one promise are called in another order, or one prevents another.
    Self("2.2.6.1, 2.2.6.2 all are called, in order", (0..<100).map { "\($0)" }) { way, log in
      let promise = way.settling { promise in
        for index in 0..<100 {
          let handler = { @Sendable in log.append("\(index)") }
          // The last kind starts a task.
          switch index % (tasksStartHere ? 4 : 3) {
          case 0: way.callback(promise, handler)
          case 1: way.link(promise, handler)
          case 2:
            way.link(promise) {
              handler()
              throw Failed()
            }.catch { _ in }
          default: promise.finally(handler).catch { _ in }
          }
        }
        return promise
      }
      await promise.waitForHandlers()
    },
    // Fails if the result of one handler reaches the promise of another.
    Self("2.2.6.1, 2.2.6.2 several make several chains", ["2", "failed Failed(number: 3)", "4"]) {
      way, log in
      let promises = way.settling { promise in
        (2...4).map { number in
          way.continued(promise) {
            if number == 3 { throw Failed(number: number) }
            return number
          }
        }
      }
      for promise in promises { log.append(await promise.outcome) }
    },
    // Fails if `then` returns the same promise.
    Self("2.2.7 then returns another promise", ["true"]) { _, log in
      let promise = Promise.value(1)
      log.append("\(promise.map { $0 }.core !== promise.core)")
    },
    // Fails if the new promise does not have the handler's value.
    Self("2.2.7.1 the new promise has the handler's value", "6") { way in
      way.settling { way.continued($0) { 6 } }
    },
    // Fails if an error that a handler throws is lost or replaced.
    Self("2.2.7.2 or the error that it throws", "failed Failed(number: 3)") { way in
      way.settling { way.continued($0) { throw Failed(number: 3) } }
    },
    Self("2.2.7.2 also a cancellation", "failed CancellationError()") { way in
      way.settling { way.link($0) { throw CancellationError() } }.map { 0 }
    },
    // Fails if a method without a handler for values, or for errors, does not pass them on.
    Self("2.2.7.3, 2.2.7.4 an outcome without a handler is passed on", times: 3) { way, log in
      let promises = way.settling { promise in
        way.fails
          ? [promise.then { .value($0 + 1) }, promise.map { $0 + 1 }, promise.finally {}]
          : [promise.recover { _ in .value(2) }, promise.recover { _ in 2 }, promise.finally {}]
      }
      for promise in promises { log.append(await promise.outcome) }
    },
  ]
}

// MARK: 2.3

extension PromisesAPlusTests.Clause {
  static let resolution = adoption + functions

  private static let adoption = [
    // Hangs if a promise waits for itself.
    Self("2.3.1 a promise resolved with itself fails", []) { way, _ in
      let (place, gate) = (Locked<Promise<Int>?>(nil), Gate())
      let promise = way.resolved {
        gate.block()
        return place.withLock { $0.take() } ?? .value(99)
      }
      place.withLock { $0 = promise }
      gate.open()
      #expect(await promise.outcome == promise.resolvedWithItself)
    },
    // Hangs if a deferred that relays its own promise waits.
    Self("2.3.1 a deferred that its own promise is relayed to fails", []) { _, _ in
      let deferred = Deferred<Int>("self")
      deferred.promise.relay(to: deferred)
      #expect(await deferred.promise.outcome == deferred.promise.resolvedWithItself)
    },
    // Fails if the promise ends before `x` does.
    Self("2.3.2.1 the promise is pending as long as x is", ["pending", "1"]) { way, log in
      let (inner, called) = (Deferred<Int>(), Gate())
      let promise = way.resolved {
        defer { called.open() }
        return inner.promise
      }
      await called.passed()
      await Promise.value(0).waitForHandlers()
      log.append(text(promise.state))
      inner.fulfill(1)
      log.append(await promise.outcome)
    },
    // Fails if the value or the error is not that of `x`.
    Self("2.3.2.2, 2.3.2.3 it has the value or the error of x", times: 2) { way, log in
      for fails in [false, true] {
        let outer = PromisesAPlusTests.Way(moment: way.moment, fails: fails)
        log.append(await outer.resolved { way.settling { $0 } }.outcome)
      }
    },
    // Fails if a promise that was resolved with a pending promise accepts another outcome.
    Self("2.3.2 a promise resolved with another is settled only by that one") { way, log in
      let reports = Reports()
      let outer = Deferred<Int>("outer", diagnostics: reports.place)
      let (inner, third) = (Deferred<Int>(), Deferred<Int>())
      inner.promise.relay(to: outer)
      #expect(!outer.tryFulfill(2) && !outer.tryFail(Failed()))
      outer.fulfill(2)
      outer.fail(Failed())
      third.promise.relay(to: outer)
      outer.promise.relay(to: outer)
      third.fulfill(3)
      way.settle(inner)
      log.append(await outer.promise.outcome)
      let expected = Diagnostic.settledAgain(outer.promise.core.origin.identity)
      #expect(reports.all == Array(repeating: expected, count: 4))
    },
    // Fails if a value that is not a promise is changed, or a closure is no longer accepted as one.
    Self("2.3.4 any other value is the value", ["()", "nil", "false", "[1, 2]", "3"]) { way, log in
      let (moment, zero) = (way.moment, Result<Int, any Error>.success(0))
      log.append(await moment.settling(zero) { $0.map { _ in } }.outcome)
      log.append(await moment.settling(zero) { $0.map { _ in Int?.none } }.outcome)
      log.append(await moment.settling(zero) { $0.map { _ in false } }.outcome)
      log.append(await moment.settling(zero) { $0.map { _ in [1, 2] } }.outcome)
      let promise = Promise.value(2).map { number in { @Sendable in number + 1 } }
      log.append("\(try await promise.value())")
    },
  ]

  private static let functions = [
    // Fails if returned promises of promises are not flattened to any depth.
    Self("2.3.3.3.1 y may be a promise, of a promise") { way in
      Promise<Int>("outer") { deferred in
        let middle = Promise<Int>("middle") { deferred in
          way.settling { $0 }.relay(to: deferred)
        }
        middle.relay(to: deferred)
      }
    },
    // Fails if the cold promise's task does not receive working functions, or a call after the
    // first takes effect.
    Self("2.3.3.3.1, 2.3.3.3.2, 2.3.3.3.3 only the first call takes effect", times: 2) { way, log in
      let promise = Promise<Int>("task", diagnostics: .silent) { resolve, reject in
        let call = { @Sendable in
          if way.fails { reject(Failed(number: 1)) }
          resolve(1)
          resolve(2)
          reject(Failed(number: 2))
        }
        if way.moment == .later { DispatchQueue.global().async(execute: call) } else { call() }
      }
      log.append(await promise.outcome)
      await promise.waitForHandlers()
      log.append(text(promise.state))
    },
    // Fails if the first call is ignored because its promise is not settled yet.
    Self("2.3.3.3.3 also with a promise") { way in
      Promise<Int>("task", diagnostics: .silent) { deferred in
        way.settling { $0 }.relay(to: deferred)
        deferred.fulfill(2)
        deferred.fail(Failed(number: 2))
        Promise.value(3).relay(to: deferred)
      }
    },
    // Fails if an error thrown after the task has settled its promise takes effect.
    Self("2.3.3.3.4.1 an error thrown after the first call is ignored", "1") { _ in
      Promise<Int>("task", diagnostics: .silent) { resolve, _ in
        resolve(1)
        throw Failed()
      }
    },
    Self("2.3.3.3.4.1 also after a call with a promise") { way in
      Promise<Int>("task", diagnostics: .silent) { deferred in
        way.settling { $0 }.relay(to: deferred)
        throw Failed()
      }
    },
    // Fails if an error that a task throws is lost.
    Self("2.3.3.3.4.2 one thrown before any call is the outcome", "failed Failed(number: 3)") { _ in
      Promise<Int>("task") { resolve, _ in
        guard resolve as Any? == nil else { throw Failed(number: 3) }
        resolve(1)
      }
    },
  ]
}
