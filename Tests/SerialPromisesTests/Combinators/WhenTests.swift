import TestSupport
import Testing

@testable import SerialPromises

/// `when`: waiting for several promises.
struct WhenTests {
  private func pending(_ count: Int) -> [Deferred<Int>] {
    (0..<count).map { Deferred<Int>("number \($0)", diagnostics: .silent) }
  }

  // Fails if values are collected in completion order, or keys and types are mixed up.
  @Test(
    "the values are in the order of the promises, or have their keys", .shows(Promising.when))
  func values() async throws {
    let deferreds = pending(3)
    let all = when(deferreds.map(\.promise))
    for index in [2, 0, 1] { deferreds[index].fulfill(index * 10) }
    #expect(try await all.value == [0, 10, 20])
    let both = when(["one": Promise.value(1), "two": Promise { 2 }])
    #expect(try await both.value == ["one": 1, "two": 2])
    let three = when(Promise.value(1), Promise { "two" }, Promise.value(true))
    #expect(await three.outcome == "(1, \"two\", true)")
  }

  // Fails if an empty form fails; hangs if it waits.
  @Test("no promises give an empty value at once", .shows(Promising.empty))
  func empty() {
    #expect(text(when([Promise<Int>]()).state) == "[]")
    #expect(text(when([String: Promise<Int>]()).state) == "[:]")
    #expect(text(when(resolved: [Promise<Int>]()).state) == "[]")
  }

  // Fails if the error changes, or the position is not that of the promise that failed.
  @Test("a failure has the position or key of the promise that failed", .shows(Promising.when))
  func failures() async {
    let deferreds = pending(3)
    let all = when(deferreds.map(\.promise))
    deferreds[1].fail(Failed(number: 7))
    deferreds[0].fail(Failed(number: 8))
    #expect(await all.outcome == "failed the promise at 1 failed: Failed(number: 7)")
    let failing = Promise<String>.failure(Failed())
    let keyed = when(["good": Promise.value("a"), "bad": failing])
    #expect(await keyed.outcome == "failed the promise at bad failed: Failed(number: 0)")
    let tuple = when(Promise.value(1), failing)
    #expect(await tuple.outcome == "failed the promise at 1 failed: Failed(number: 0)")
  }

  // Fails if a failure fails the combination, or an outcome is misplaced.
  @Test("waiting for all promises to settle never fails", .shows(Promising.collect))
  func resolved() async throws {
    let outcomes = try await when(resolved: [
      Promise.value(1), .failure(Failed(number: 2)), Promise { 3 },
    ]).value
    let failure = "failure(SerialPromisesTests.Failed(number: 2))"
    #expect(outcomes.map { "\($0)" } == ["success(1)", failure, "success(3)"])
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
}
