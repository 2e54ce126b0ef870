import TestSupport
import Testing

@testable import SerialPromises

/// Loops of promises whose rounds are released while the loop continues.
struct FlatMemoryTests {
  /// Counts the objects of the rounds that are alive.
  private final class Census: Sendable {
    private let alive = Atomic(0)
    private let highest = Locked(0)

    var most: Int { highest.withLock { $0 } }

    func object() -> Sentinel {
      let count = alive.add(1)
      highest.withLock { $0 = max($0, count) }
      return Sentinel { [self] in alive.add(-1) }
    }
  }

  /// An error that keeps the object of its round.
  private struct RoundFailed: Error { let object: Sentinel }

  private let rounds = 3_000 / ease
  private let census = Census()

  // Fails if each attempt's promise is retained until the last one has ended. Counts their errors,
  // or objects that the handlers of an attempt capture.
  @Test(
    "the attempts of a retry are released one after another", .shows(Promising.noLeaks),
    arguments: [false, true])
  func retry(captures: Bool) async {
    let attempt = Promise<Int>(diagnostics: .silent) { [census] resolve, reject in
      if captures { resolve(1) } else { reject(RoundFailed(object: census.object())) }
    }
    .then { [census] _ in
      let object = census.object()
      return Promise<Int>(diagnostics: .silent) { _, reject in
        object.touch()
        reject(Failed())
      }
    }
    _ = await attempt.retry(rounds).outcome
    #expect(census.most < 50)
  }

  /// The number of promises between one and the running one.
  private func depth(_ promise: Promise<Int>?) -> Int {
    guard let promise else { return .max }
    var walk = ProgressWalk()
    _ = walk.progress(of: promise.core)
    return walk.visits
  }

  // Fails if each attempt adds a promise that waits for the next attempt.
  @Test("the last attempt of a retry is as near as the first", .shows(Promising.noLeaks))
  func attempts() async {
    let (outer, depths) = (Locked<Promise<Int>?>(nil), Log<Int>())
    let promise = Promise<Int>(diagnostics: .silent) { [self] _, reject in
      depths.append(depth(outer.withLock { $0 }))
      reject(Failed())
    }
    .retry(1_000)
    outer.withLock { $0 = promise }
    _ = await promise.outcome
    #expect(depths.count == 1_001)
    #expect((depths.last ?? .max) < 20, "promises wait for each other")
  }

  // Fails if the promise of each round waits for that of the next one, or what a round captured is
  // retained until the loop has ended.
  @Test(
    "the rounds of a recursive loop are released", .shows(Promising.noLeaks),
    arguments: [true, false]
  )
  func loop(_ recovers: Bool) async {
    let (outer, depths, results) = (Locked<Promise<Int>?>(nil), Log<Int>(), Log<Watched>())
    @Sendable func round(_ left: Int) -> Promise<Int> {
      if left == 0 {
        depths.append(depth(outer.withLock { $0 }))
        return .value(results.all.count { !$0.isGone })
      }
      let object = census.object()
      let first = Promise<Int>(diagnostics: .silent) { resolve, reject in
        object.touch()
        if recovers { reject(RoundFailed(object: object)) } else { resolve(1) }
      }
      let result =
        recovers ? first.recover { _ in round(left - 1) } : first.then { _ in round(left - 1) }
      results.append(Watched(result.core))
      return result
    }
    let promise = round(rounds)
    outer.withLock { $0 = promise }
    let alive = Int(await promise.outcome) ?? .max
    #expect(alive < 50 && (depths.last ?? .max) < 50, "promises of rounds are alive")
    #expect(census.most < 50)
  }
}
