import TestSupport
import Testing

@testable import SerialPromises

/// The search for what nobody has thought of, where managers and promises meet.
struct SearchTests {
  // Fails if, in any of the ways in which they are put together here, the work of two steps overlaps,
  // begins out of turn, runs twice or not at all, if a listener is not called or called twice, if a
  // cancellation counts as a failure, or if something is left. For instance: have the step of a
  // promise end as soon as that is settled.
  @Test(
    "a search at random among steps, promises, cancellations and drops finds no violation",
    .shows(Managing.neverTwo, Managing.order, Managing.cancelWaiting, Managing.storms))
  func search() async {
    let result = Locked<Search?>(nil)
    let done = Gate()
    // Blocks, so not on a thread that tasks need.
    onOwnThread {
      var search = Search(.current)
      search.run()
      result.withLock { [search] in $0 = search }
      done.open()
    }
    await done.passed()
    guard let search = result.withLock({ $0 }) else { return }
    tally(search.operations)
    for failure in search.failures.prefix(1) {
      Issue.record("\(failure.text)")
      print("replay with SERIALQ_SEED=\(failure.text.prefix(40))")
    }
    if search.settings.isCensus { print(search.census) }
  }

  // Fails if something other than the seed goes into a scenario.
  @Test("a seed makes the same scenario each time", .shows(Managing.storms))
  func seeds() {
    for seed in 0..<200 as Range<UInt64> {
      let (one, other) = (
        ScenarioGenerator.scenario(seed: seed), ScenarioGenerator.scenario(seed: seed)
      )
      #expect("\(one)" == "\(other)")
      #expect(one.size > 0)
    }
  }
}
