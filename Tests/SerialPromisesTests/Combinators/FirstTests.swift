import TestSupport
import Testing

@testable import SerialPromises

/// The first of several promises.
struct FirstTests {
  // Fails if a failure decides, or a later value replaces the first.
  @Test("any takes the first value and passes over failures", .shows(Promising.any))
  func any() async {
    let deferreds = (0..<3).map { _ in Deferred<Int>(diagnostics: .silent) }
    let first = Promise.any(deferreds.map(\.promise))
    deferreds[0].fail(Failed())
    deferreds[2].fulfill(2)
    deferreds[1].fulfill(1)
    #expect(await first.outcome == "2")
  }

  // Fails if an error is lost or in another's place, or it waits for ever.
  @Test(
    "any fails with all errors in the order of the promises; so it does for none",
    .shows(Promising.any, Promising.empty))
  func allFailed() async {
    let deferreds = (0..<2).map { _ in Deferred<Int>(diagnostics: .silent) }
    let first = Promise.any(deferreds.map(\.promise))
    deferreds[1].fail(Failed(number: 1))
    deferreds[0].fail(Failed(number: 0))
    let failure = await #expect(throws: AllFailedError.self) { try await first.value }
    #expect(failure?.errors as? [Failed] == [Failed(number: 0), Failed(number: 1)])
    let none = await #expect(throws: AllFailedError.self) { try await Promise<Int>.any([]).value }
    #expect(none?.errors.isEmpty == true)
  }

  // Fails if a failure does not decide the race, or a race of none never ends.
  @Test(
    "race ends as the first that ends, and fails without anybody",
    .shows(Promising.race, Promising.empty))
  func race() async {
    let deferreds = (0..<2).map { _ in Deferred<Int>(diagnostics: .silent) }
    let first = Promise.race(deferreds.map(\.promise))
    deferreds[1].fail(Failed())
    deferreds[0].fulfill(0)
    #expect(await first.outcome == "failed Failed(number: 0)")
    #expect(await Promise.race([.value(3), .failure(Failed())]).outcome == "3")
    await #expect(throws: PromiseError.noPromises) { try await Promise<Int>.race([]).value }
  }

  // Fails if a loser's failure is reported, or it is cancelled.
  @Test("losers go on, and their failures are no false alarm", .shows(Promising.losers))
  func losers() async {
    let (reports, log) = (Reports(), Log<Int>())
    do {
      let loser = Deferred<Int>("loser", diagnostics: reports.place)
      loser.onCancel { log.append(1) }
      let first = Promise.race([.value(1), loser.promise])
      #expect(await first.outcome == "1")
      loser.fail(Failed())
    }
    #expect(reports.all.isEmpty && log.all.isEmpty)
  }

  // Fails if what never ends keeps every race that it was ever in.
  @Test("a promise that never ends does not collect the races that it lost")
  func longLived() async {
    let never = Deferred<Int>(diagnostics: .silent)
    let gone = Gate()
    do {
      let sentinel = Sentinel { gone.open() }
      let first = Promise.race([.value(1), never.promise]).map { value in
        sentinel.touch()
        return value
      }
      #expect(await first.outcome == "1")
    }
    await gone.passed()
    let holds = never.promise.core.withLock { $0.attach(Reaction()) }
    #expect(holds == .listed)
    never.fulfill(0)
  }

  // Fails if the progress is not the greatest.
  @Test("the progress is that of the one that has come furthest", .shows(Progressing.maximum))
  func progress() async {
    let (log, deferreds) = (Log<Double>(), (0..<2).map { _ in Deferred<Int>() })
    let first = Promise.any(deferreds.map(\.promise)).progressed { log.append($0) }
    deferreds[0].progress(0.25)
    deferreds[1].progress(0.5)
    deferreds[0].progress(0.375)
    #expect(first.progress == 0.5)
    deferreds[0].fulfill(1)
    await first.told()
    #expect(log.all == [0.25, 0.5, 1])
    deferreds[1].fulfill(2)
  }

  // Fails if what was decided while it was made waits at the others for ever.
  @Test("a race that is decided while it is made leaves nothing at its losers")
  func decidedWhileMade() {
    let never = (0..<5_000).map { _ in Deferred<Int>() }
    for _ in 0..<10 {
      let (first, place) = (Deferred<Int>(), Locked<Watched?>(nil))
      onThreads(2) { index in
        if index == 0 {
          // The race waits at the first, and not yet at most of the others.
          while first.promise.core.withLock({ !$0.isFailureHandled }) {}
          return first.fulfill(1)
        }
        let race = Promise.race([first.promise] + never.map(\.promise))
        place.withLock { $0 = Watched(race.core) }
      }
      #expect(place.withLock { $0?.isGone } == true)
    }
  }

  // Fails if one of those that follow is left out.
  @Test("any and race take promises without an array", .shows(Promising.any, Promising.race))
  func variadic() async {
    let failing = Promise<Int>.failure(Failed())
    #expect(await Promise.any(failing, Promise { 2 }).outcome == "2")
    #expect(await Promise.any(failing, failing, failing, Promise { 3 }).outcome == "3")
    let pending = Deferred<Int>(diagnostics: .silent)
    #expect(await Promise.race(pending.promise, pending.promise, .value(1)).outcome == "1")
    #expect(await Promise.race(pending.promise, failing).outcome == "failed Failed(number: 0)")
  }
}
