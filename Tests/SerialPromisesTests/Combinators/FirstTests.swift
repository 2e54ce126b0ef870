import Foundation
import TestSupport
import Testing

@testable import SerialPromises

/// `any` and `race`: the first of several promises.
struct FirstTests {
  private func pending() -> [Deferred<Int>] {
    (0..<3).map { _ in Deferred<Int>(diagnostics: .silent) }
  }

  // Fails if a failure settles the result, or a later value replaces the first.
  @Test("any takes the first value and ignores failures", .shows(Promising.any))
  func any() async {
    let deferreds = pending()
    let first = Promise.any(deferreds.map(\.promise))
    deferreds[0].fail(Failed())
    deferreds[2].fulfill(2)
    deferreds[1].fulfill(1)
    #expect(await first.outcome == "2")
  }

  // Fails if an error is lost or misplaced, or `any` hangs.
  @Test(
    "any fails with all errors in the order of the promises, also for no promises",
    .shows(Promising.any, Promising.empty))
  func allFailed() async {
    let deferreds = pending()
    let first = Promise.any(deferreds.map(\.promise))
    for number in [1, 2, 0] { deferreds[number].fail(Failed(number: number)) }
    for (promise, expected) in [(first, [0, 1, 2]), (Promise<Int>.any([]), [])] {
      let failure = await #expect(throws: AllFailedError.self) { try await promise.value }
      #expect(failure?.errors.compactMap { ($0 as? Failed)?.number } == expected)
    }
  }

  // Fails if a failure does not settle the race; hangs if an empty race never settles.
  @Test(
    "race settles as the first promise that settles, and fails for no promises",
    .shows(Promising.race, Promising.empty))
  func race() async {
    let deferreds = pending()
    let first = Promise.race(deferreds.map(\.promise))
    deferreds[1].fail(Failed())
    deferreds[0].fulfill(0)
    await expectOutcomes([
      "failed Failed(number: 0)": first,
      "3": Promise.race([.value(3), .failure(Failed())]),
      "failed \(PromiseError.noPromises)": Promise<Int>.race([]),
    ])
  }

  // Fails if the failure of another input is reported, or that input is canceled.
  @Test(
    "when a combination has settled, the other inputs continue, and their failures are not reported",
    .shows(Promising.losers))
  func losers() async {
    let (reports, log) = (Reports(), Log<Int>())
    do {
      let loser = Deferred<Int>("loser", diagnostics: reports.place)
      loser.onCancel { log.append(1) }
      await expectOutcomes([
        "1": Promise.race([.value(1), loser.promise]),
        "1": Promise.any([.value(1), loser.promise]),
        "failed the promise at 1 failed: Failed(number: 0)":
          when([loser.promise, .failure(Failed())]).map { $0[0] },
      ])
      loser.fail(Failed(number: 2))
    }
    #expect(reports.all.isEmpty && log.all.isEmpty)
  }

  // Fails if a race that is settled during its creation stays registered with the other promises.
  @Test("a race that is settled during its creation leaves nothing at its losers")
  func decidedWhileMade() {
    let never = (0..<5_000).map { _ in Deferred<Int>() }
    for _ in 0..<10 {
      let (first, place) = (Deferred<Int>(), Locked<Watched?>(nil))
      onThreads(2) { index in
        if index == 0 {
          // The race is registered with the first promise, and not yet with most of the others.
          while first.promise.core.withLock({ !$0.isFailureHandled }) { sched_yield() }
          return first.fulfill(1)
        }
        let race = Promise.race([first.promise] + never.map(\.promise))
        place.withLock { $0 = Watched(race.core) }
      }
      #expect(place.withLock { $0?.isGone } == true)
    }
  }

  // Fails if one of the variadic promises is ignored.
  @Test("any and race accept promises without an array", .shows(Promising.any, Promising.race))
  func variadic() async {
    let (failing, pending) = (Promise<Int>.failure(Failed()), Deferred<Int>(diagnostics: .silent))
    await expectOutcomes([
      "2": Promise.any(failing, Promise { 2 }),
      "3": Promise.any(failing, failing, failing, Promise { 3 }),
      "1": Promise.race(pending.promise, pending.promise, .value(1)),
      "failed Failed(number: 0)": Promise.race(pending.promise, failing),
    ])
  }

  // MARK: A promise that another thread settles at that moment

  enum Way: CaseIterable {
    case race, any, when, raceOfTwo, anyOfTwo, whenOfTwo

    /// Whether the settled input is a failure.
    var fails: Bool { self == .when || self == .whenOfTwo }

    func combine(
      _ settled: Promise<Int>, _ open: Promise<Int>, _ others: [Promise<Int>]
    ) -> Promise<Int> {
      switch self {
      case .race: Promise.race([settled, open] + others)
      case .any: Promise.any([settled, open] + others)
      case .when: SerialPromises.when([settled, open] + others).map { $0[0] }
      case .raceOfTwo: Promise.race(settled, open)
      case .anyOfTwo: Promise.any(settled, open)
      case .whenOfTwo: SerialPromises.when(settled, open).map { $0.0 }
      }
    }
  }

  /// The objects of a round.
  private struct Round: Sendable {
    let settled: Promise<Int>
    let open = Deferred<Int>(diagnostics: .silent)
    /// Inputs after the other two.
    let others: [Deferred<Int>]
    let isLocked = Gate()
    let result = Log<Promise<Int>>()

    init(_ way: Way) {
      settled = way.fails ? .silentFailure(Failed(number: 1)) : .value(1)
      others = (0..<3).map { _ in Deferred<Int>(diagnostics: .silent) }
    }
  }

  // Fails if a combination attaches to its inputs one after another and lets their reactions
  // decide: a later settlement on another thread can then be faster than the input that was settled
  // before. Seen in one of 1 to 100 rounds: the combining thread waits for the lock of an input
  // that it reaches after the open one.
  @Test(
    "an input that is settled decides, and not one that another thread settles later",
    .shows(Promising.race, Promising.any, Promising.when), arguments: Way.allCases)
  func decides(_ way: Way) async {
    let expected = way.fails ? "Failed(number: 1)" : "1"
    await inRounds(isLong ? 150 : 40 / ease) {
      Round(way)
    } _: { round in
      round.isLocked.block()
      round.result.append(
        way.combine(round.settled, round.open.promise, round.others.map(\.promise)))
    } _: { round in
      round.others[0].core.withLock { _ in
        round.isLocked.open()
        yieldToOthers(400)
      }
    } _: { round in
      round.isLocked.block()
      yieldToOthers(200)
      if way.fails { round.open.fail(Failed(number: 2)) } else { round.open.fulfill(2) }
    } fault: { round in
      let outcome: String
      do { outcome = try "\(round.result.all[0].wait(timeout: .seconds(60)))" } catch {
        outcome = "\((error as? WhenError<Int>)?.underlying ?? error)"
      }
      return outcome == expected ? nil : "decided by \(outcome)"
    }
  }
}
