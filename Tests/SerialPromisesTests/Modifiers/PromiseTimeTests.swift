import TestSupport
import Testing

@testable import SerialPromises

/// Delays and time limits of promises.
struct PromiseTimeTests {
  private let clock = ManualClock()

  // Fails if the value comes early; hangs if it never comes.
  @Test("a value or an error comes after the given time", .shows(Promising.time))
  func after() async {
    let value = Promise.value(1, after: .seconds(2), clock: clock)
    let error = Promise<Int>.failure(Failed(), after: .seconds(3), clock: clock)
    await clock.elapse(.seconds(2), sleepers: 2)
    #expect(await value.outcome == "1")
    #expect(text(error.state) == "pending")
    clock.advance(by: .seconds(1))
    #expect(await error.outcome == "failed Failed(number: 0)")
  }

  // Fails if the value is not delayed, or the failure is.
  @Test(
    "a value is delayed from the moment of its fulfillment; a failure is not delayed",
    .shows(Promising.time))
  func delay() async {
    let deferred = Deferred<Int>()
    let late = deferred.promise.delay(.seconds(2), clock: clock)
    clock.advance(by: .seconds(5))
    deferred.fulfill(1)
    await clock.elapse(.seconds(1))
    #expect(text(late.state) == "pending")
    clock.advance(by: .seconds(1))
    #expect(await late.outcome == "1")
    let failed = Promise<Int>.failure(Failed()).delay(.seconds(2), clock: clock)
    #expect(await failed.outcome == "failed Failed(number: 0)")
  }

  // Fails if a timeout cancels a source with other dependents, or accepts a late value.
  @Test("a source with other dependents continues")
  func shared() async {
    let (deferred, log) = (Deferred<Int>(), Log<Int>())
    deferred.onCancel { log.append(1) }
    let other = deferred.promise.map { $0 }
    let limited = deferred.promise.timeout(.seconds(5), clock: clock)
    await clock.elapse(.seconds(5))
    #expect(await limited.outcome == "failed \(PromiseError.timedOut(.seconds(5)))")
    deferred.fulfill(3)
    #expect(await other.outcome == "3")
    #expect(log.all.isEmpty)
  }

  // Fails if the time of a cold promise begins before it is demanded, or its timer is retained.
  @Test("the time limit of a cold promise begins on demand, and ends with the promise")
  func cold() async {
    let taken = Locked<Deferred<Int>?>(nil)
    let begun = Gate()
    let limited = Promise<Int> { deferred in
      taken.withLock { $0 = deferred }
      begun.open()
    }.timeout(.seconds(5), clock: clock)
    clock.advance(by: .seconds(10))
    #expect(clock.sleepers == 0)
    limited.start()
    await clock.waitForSleeper()
    await begun.passed()
    taken.withLock { $0.take() }?.fulfill(4)
    #expect(await limited.outcome == "4")
    while clock.sleepers > 0 { await Task.yield() }
  }

  // Hangs if a cold promise that was started, or a chain on it, is treated as not started.
  @Test(
    "the time limit of a cold promise that was started begins at once", .shows(Promising.time),
    arguments: 0..<5)
  func started(way: Int) async {
    let (begun, gate) = (Locked<[Deferred<Int>]>([]), Gate())
    let cold = Promise<Int> { deferred in begun.withLock { $0.append(deferred) } }
    let source =
      switch way {
      case 0: cold.start()
      case 1: cold.start().tap { _ in }
      case 2: cold.start().map { $0 }.map { $0 }
      case 3: when([cold.start()]).map { $0[0] }
      default: cold.start().timeout(.seconds(60), clock: clock)
      }
    source.timeout(.seconds(5), clock: clock).catch { _ in gate.open() }
    while clock.sleepers < (way == 4 ? 2 : 1) { await Task.yield() }
    clock.advance(by: .seconds(5))
    await gate.passed()
    begun.withLock { $0.removeAll() }
  }
}
