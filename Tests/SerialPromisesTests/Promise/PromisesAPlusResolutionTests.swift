import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Promises/A+ 2.3, clause by clause: the resolution of a promise with `x`.
///
/// Not applicable in Swift, because the type of a value shows whether it is a promise: 2.3.3.1,
/// 2.3.3.2 and 2.3.3.4, which look up `then` in any object. The clauses of 2.3.3.3 on the two
/// functions passed to a foreign `then` are tested with the functions passed to a cold promise's
/// task.
@Suite(.allShow(Promising.resolution)) struct PromisesAPlusResolutionTests {
  /// The promise returned from a handler for values or for errors.
  private func returned(
    _ fails: Bool, _ make: @escaping @Sendable () throws -> Promise<Int>
  ) -> Promise<Int> {
    fails
      ? Promise<Int>.failure(Failed()).recover { _ in try make() }
      : Promise.value(0).then { _ in try make() }
  }

  /// Holds a promise for its own handler.
  private final class Place: Sendable {
    private let promise = Locked<Promise<Int>?>(nil)
    let gate = Gate()

    func put(_ promise: Promise<Int>) {
      self.promise.withLock { $0 = promise }
      gate.open()
    }

    func take() throws -> Promise<Int> {
      gate.block()
      guard let promise = promise.withLock({ $0.take() }) else { throw Failed(number: 99) }
      return promise
    }
  }

  // Hangs if a promise waits for itself.
  @Test("2.3.1 a promise resolved with itself fails", arguments: [false, true])
  func itself(fails: Bool) async {
    let place = Place()
    let promise = returned(fails) { try place.take() }
    place.put(promise)
    let error = PromiseError.resolvedWithItself(promise.core.origin.identity)
    #expect(await promise.outcome == "failed \(error)")
  }

  // Hangs if a deferred that relays its own promise waits.
  @Test("2.3.1 a deferred that its own promise is relayed to fails")
  func itselfByRelay() async {
    let deferred = Deferred<Int>("self")
    deferred.promise.relay(to: deferred)
    let error = PromiseError.resolvedWithItself(deferred.promise.core.origin.identity)
    #expect(await deferred.promise.outcome == "failed \(error)")
  }

  // Fails if the promise ends before `x` does.
  @Test("2.3.2.1 the promise is pending as long as x is", arguments: [false, true])
  func pending(fails: Bool) async {
    let (inner, called) = (Deferred<Int>(), Gate())
    let promise = returned(fails) {
      defer { called.open() }
      return inner.promise
    }
    await called.passed()
    await Promise.value(0).waitForHandlers()
    #expect(text(promise.state) == "pending")
    inner.fulfill(1)
    #expect(await promise.outcome == "1")
  }

  // Fails if the value or the error is not that of `x`.
  @Test(
    "2.3.2.2, 2.3.2.3 the promise has the value or the error of x", arguments: Moment.allCases,
    [false, true])
  func outcome(_ moment: Moment, fails: Bool) async {
    let fulfilled = returned(fails) { moment.settling(.success(5)) { $0 } }
    #expect(await fulfilled.outcome == "5")
    let failed = returned(fails) { moment.settling(.failure(Failed(number: 5))) { $0 } }
    #expect(await failed.outcome == "failed Failed(number: 5)")
  }

  // Fails if a promise that was resolved with a pending promise accepts another outcome.
  @Test("2.3.2 a promise resolved with another is settled only by that one")
  func onlyTheOther() async {
    let reports = Reports()
    let outer = Deferred<Int>("outer", diagnostics: reports.place)
    let (inner, third) = (Deferred<Int>(), Deferred<Int>())
    inner.promise.relay(to: outer)
    #expect(!outer.tryFulfill(1))
    #expect(!outer.tryFail(Failed()))
    outer.fulfill(2)
    outer.fail(Failed())
    third.promise.relay(to: outer)
    outer.promise.relay(to: outer)
    third.fulfill(3)
    inner.fulfill(4)
    #expect(await outer.promise.outcome == "4")
    let expected = Diagnostic.settledAgain(outer.promise.core.origin.identity)
    #expect(reports.all == Array(repeating: expected, count: 4))
  }

  // MARK: 2.3.3.3

  /// How a task uses the two functions that it receives.
  private func task(
    _ moment: Moment, _ body: @escaping @Sendable ((Int) -> Void, (any Error) -> Void) -> Void
  ) -> Promise<Int> {
    Promise<Int>("task", diagnostics: .silent) { resolve, reject in
      if moment == .later {
        DispatchQueue.global().async { body(resolve, reject) }
      } else {
        body(resolve, reject)
      }
    }
  }

  // Fails if returned promises of promises are not flattened to any depth.
  @Test("2.3.3.3.1 y may be a promise, of a promise", arguments: Moment.allCases)
  func resolveDeeper(_ moment: Moment) async {
    let promise = Promise<Int>("outer") { deferred in
      let middle = Promise<Int>("middle") { deferred in
        moment.settling(.success(7)) { $0 }.relay(to: deferred)
      }
      middle.relay(to: deferred)
    }
    #expect(await promise.outcome == "7")
  }

  // Fails if the cold promise's task does not receive working functions, or a call after the first takes
  // effect.
  @Test(
    "2.3.3.3.1, 2.3.3.3.2, 2.3.3.3.3 the first call takes effect, further ones are ignored",
    arguments: Moment.allCases)
  func firstCall(_ moment: Moment) async {
    let error = Failed(number: 1)
    #expect(await task(moment) { resolve, _ in [1, 2].forEach(resolve) }.outcome == "1")
    let resolved = task(moment) { resolve, reject in
      resolve(1)
      reject(error)
    }
    #expect(await resolved.outcome == "1")
    let rejected = task(moment) { resolve, reject in
      reject(error)
      resolve(1)
      reject(Failed(number: 2))
    }
    #expect(await rejected.outcome == "failed \(error)")
    await rejected.waitForHandlers()
    #expect(text(rejected.state) == "failed \(error)")
  }

  // Fails if the first call is ignored because its promise is not settled yet.
  @Test(
    "2.3.3.3.3 the first call takes effect also with a promise",
    arguments: Moment.allCases, [false, true])
  func firstWithPromise(_ moment: Moment, fails: Bool) async {
    let result: Result<Int, any Error> = fails ? .failure(Failed(number: 1)) : .success(1)
    let promise = Promise<Int>("task", diagnostics: .silent) { deferred in
      moment.settling(result) { $0 }.relay(to: deferred)
      deferred.fulfill(2)
      deferred.fail(Failed(number: 2))
      Promise.value(3).relay(to: deferred)
    }
    #expect(await promise.outcome == (fails ? "failed Failed(number: 1)" : "1"))
  }

  // Fails if an error thrown after the task has settled its promise takes effect.
  @Test("2.3.3.3.4.1 an error thrown after the first call is ignored")
  func thrownLate() async {
    let resolved = Promise<Int>("task", diagnostics: .silent) { resolve, _ in
      resolve(1)
      throw Failed()
    }
    #expect(await resolved.outcome == "1")
    let inner = Deferred<Int>()
    let adopted = Promise<Int>("task", diagnostics: .silent) { deferred in
      inner.promise.relay(to: deferred)
      throw Failed()
    }
    adopted.start()
    inner.fulfill(2)
    #expect(await adopted.outcome == "2")
  }

  // Fails if an error that a task throws is lost.
  @Test("2.3.3.3.4.2 an error thrown before any call fails the promise")
  func thrown() async {
    let promise = Promise<Int>("task") { resolve, _ in
      guard resolve as Any? == nil else { throw Failed(number: 3) }
      resolve(1)
    }
    #expect(await promise.outcome == "failed Failed(number: 3)")
  }

  // Fails if a value that is not a promise is changed.
  @Test("2.3.4 any other value is the promise's value", arguments: Moment.allCases)
  func values(_ moment: Moment) async {
    #expect(await moment.settling(.success(0)) { $0.map { _ in } }.outcome == "()")
    #expect(await moment.settling(.success(0)) { $0.map { _ in Int?.none } }.outcome == "nil")
    #expect(await moment.settling(.success(0)) { $0.map { _ in false } }.outcome == "false")
    #expect(await moment.settling(.success(0)) { $0.map { _ in [1, 2] } }.outcome == "[1, 2]")
    let failure = Result<Int, any Error>.failure(Failed())
    #expect(await moment.settling(failure) { $0.recover { _ in 1 } }.outcome == "1")
  }

  // Fails if a closure is no longer accepted as a value.
  @Test("2.3.4 a closure is a value")
  func closures() async throws {
    let promise = Promise.value(2).map { number in { @Sendable in number + 1 } }
    #expect(try await promise.value() == 3)
  }
}
