import TestSupport
import Testing

@testable import SerialPromises

/// Combinations of a promise that is settled and of one that another thread settles at that moment.
struct SettledInputTests {
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

  // Fails if a combination attaches to its inputs one after another and lets their reactions decide: a
  // later settlement on another thread can then be faster than the input that was settled before. Seen
  // in one of 1 to 100 rounds: the combining thread waits for the lock of an input that it reaches
  // after the open one.
  @Test(
    "an input that is settled decides, and not one that another thread settles later",
    .shows(Promising.race, Promising.any, Promising.when), arguments: Way.allCases)
  func decides(_ way: Way) async {
    let expected = way.fails ? "Failed(number: 1)" : "1"
    let fault = await faultInRounds(isLong ? 150 : 40 / ease) {
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
    #expect(fault == nil)
  }
}
