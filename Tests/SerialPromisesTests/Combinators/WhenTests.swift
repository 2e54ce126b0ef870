import TestSupport
import Testing

@testable import SerialPromises

/// `when`: waiting for several promises.
struct WhenTests {
  private func pending(_ count: Int) -> [Deferred<Int>] {
    (0..<count).map { Deferred<Int>("number \($0)", diagnostics: .silent) }
  }

  // Fails if values are collected in completion order.
  @Test(
    "the values are in the order of the promises, regardless of which settles first",
    .shows(Promising.when))
  func array() async throws {
    let deferreds = pending(3)
    let all = when(deferreds.map(\.promise))
    for index in [2, 0, 1] { deferreds[index].fulfill(index * 10) }
    #expect(try await all.value == [0, 10, 20])
  }

  // Fails if an empty form fails; hangs if it waits.
  @Test("no promises give an empty value at once", .shows(Promising.empty))
  func empty() throws {
    #expect(try settled(when([Promise<Int>]())) == [])
    #expect(try settled(when([String: Promise<Int>]())) == [:])
    #expect(try settled(when(resolved: [Promise<Int>]())).isEmpty)
  }

  // Fails if the error changes, or the index is not that of the promise that failed.
  @Test("a failure has the index of the promise that failed", .shows(Promising.when))
  func failingIndex() async throws {
    let deferreds = pending(3)
    let all = when(deferreds.map(\.promise))
    deferreds[1].fail(Failed(number: 7))
    deferreds[0].fail(Failed(number: 8))
    let failure = await #expect(throws: WhenError<Int>.self) { try await all.value }
    #expect(failure?.position == 1)
    #expect(failure?.underlying as? Failed == Failed(number: 7))
  }

  // Fails if keys and values are paired wrongly, or the key of the failure is lost.
  @Test(
    "a dictionary keeps its keys, and a failure has the key of its promise", .shows(Promising.when))
  func dictionary() async throws {
    let both = when(["one": Promise.value(1), "two": Promise { 2 }])
    #expect(try await both.value == ["one": 1, "two": 2])
    let failing = when(["good": Promise.value(1), "bad": .failure(Failed())])
    let failure = await #expect(throws: WhenError<String>.self) { try await failing.value }
    #expect(failure?.position == "bad")
  }

  // Fails if the types are mixed up.
  @Test("promises of several types give a tuple", .shows(Promising.when))
  func tuple() async throws {
    let (number, word, flag) = try await when(
      Promise.value(1), Promise { "two" }, Promise.value(true)
    ).value
    #expect(number == 1 && word == "two" && flag)
    let failing = when(Promise.value(1), Promise<String>.failure(Failed()))
    let failure = await #expect(throws: WhenError<Int>.self) { try await failing.value }
    #expect(failure?.position == 1)
  }

  // Fails if a failure fails the combination, or an outcome is misplaced.
  @Test("waiting for all promises to settle never fails", .shows(Promising.collect))
  func resolved() async throws {
    let outcomes = try await when(resolved: [
      Promise.value(1), .failure(Failed(number: 2)), Promise { 3 },
    ]).value
    #expect(try outcomes[0].get() == 1)
    #expect(throws: Failed(number: 2)) { try outcomes[1].get() }
    #expect(try outcomes[2].get() == 3)
  }

  // Fails if the other promises are canceled, or their failures are reported.
  @Test("when one promise fails the others continue, and their failures are not reported")
  func others() async {
    let (reports, log) = (Reports(), Log<Int>())
    let slow = Deferred<Int>("slow", diagnostics: reports.place)
    slow.onCancel { log.append(1) }
    let all = when([slow.promise, .failure(Failed())])
    #expect(await all.outcome.contains("at 1"))
    slow.fail(Failed(number: 2))
    await slow.promise.waitForHandlers()
    #expect(log.all.isEmpty && reports.all.isEmpty)
  }

  // Fails if cold promises begin before they are demanded, or one at a time.
  @Test("cold promises are started together when the value is demanded")
  func cold() async throws {
    let (log, gates) = (Log<Int>(), (0..<2).map { _ in Gate() })
    let promises = (0..<2).map { index in
      Promise<Int> {
        log.append(index)
        gates[index].open()
        await gates[1 - index].passed()
        return index
      }
    }
    let all = when(promises)
    #expect(log.all.isEmpty)
    #expect(try await all.value == [0, 1])
  }

  // Fails if a cancellation does not reach the promises, or reaches one with other dependents.
  @Test("canceling it cancels the promises without other dependents")
  func cancel() async {
    let log = Log<Int>()
    let deferreds = pending(2)
    for (index, deferred) in deferreds.enumerated() { deferred.onCancel { log.append(index) } }
    let demanded = deferreds[1].promise.map { $0 }
    let all = when(deferreds.map(\.promise))
    #expect(all.cancel())
    #expect(log.all == [0])
    deferreds[1].fulfill(5)
    #expect(await demanded.outcome == "5")
    #expect(await all.outcome == "failed CancellationError()")
  }

  // Fails if progress is not the mean, or a failed promise does not count as settled.
  @Test(
    "progress is the mean; when(resolved:) counts a failure as done",
    .shows(Progressing.mean))
  func progress() async {
    let (log, deferreds) = (Log<Double>(), pending(2))
    let all = when(deferreds.map(\.promise)).progressed { log.append($0) }
    deferreds[0].progress(0.5)
    deferreds[1].fulfill(1)
    #expect(all.progress == 0.75)
    deferreds[0].fulfill(1)
    await all.waitForHandlers()
    #expect(log.all == [0.25, 0.75, 1])

    let others = pending(2)
    let settled = when(resolved: others.map(\.promise))
    others[0].progress(0.5)
    others[0].fail(Failed())
    #expect(settled.progress == 0.5)
    others[1].fulfill(1)
    await settled.waitForHandlers()
    #expect(settled.progress == 1)
  }

  private func settled<Value>(_ promise: Promise<Value>) throws -> Value {
    guard case .fulfilled(let value) = promise.state else { throw Failed() }
    return value
  }
}
