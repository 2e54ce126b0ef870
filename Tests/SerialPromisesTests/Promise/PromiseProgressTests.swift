import TestSupport
import Testing

@testable import SerialPromises

/// How far a promise has come: the figures of the reference implementation.
struct PromiseProgressTests {
  private let reports = Reports()

  private func deferred() -> Deferred<Int> { Deferred("work", diagnostics: reports.place) }

  /// Collects what a promise's listener hears.
  private func heard<Value>(_ promise: Promise<Value>) -> Log<Double> {
    let log = Log<Double>()
    promise.progressed { log.append($0) }
    return log
  }

  private func expect(
    _ log: Log<Double>, _ values: [Double], location: SourceLocation = #_sourceLocation
  ) {
    let isSame =
      log.count == values.count && zip(log.all, values).allSatisfy { abs($0 - $1) < 1e-9 }
    #expect(isSame, "\(log.all) is not \(values)", sourceLocation: location)
  }

  // Fails if it does not start at 0, or a promise that has its value is not done.
  @Test(
    "it starts at 0, and is 1 when fulfilled; a failure leaves it where it was",
    .shows(Progressing.range, Progressing.end))
  func ends() {
    let (good, bad) = (deferred(), deferred())
    #expect(good.promise.progress == 0)
    good.fulfill(1)
    #expect(good.promise.progress == 1)
    bad.progress(0.3)
    bad.tryFail(Failed())
    #expect(bad.promise.progress == 0.3)
    #expect(text(bad.promise.state) == "failed Failed(number: 0)")
    #expect(Promise.value(1).progress == 1)
  }

  // Fails if a rise is told twice or not at all, or 1 is told after the value.
  @Test("each rise is told once, and 1 before the value", .shows(Progressing.end))
  func rises() async {
    let (log, deferred) = (Log<String>(), deferred())
    deferred.promise.fulfilled { log.append("value \($0)") }.progressed { log.append("\($0)") }
    for fraction in [0.125, 0.125, 0.5] { deferred.progress(fraction) }
    deferred.fulfill(7)
    await deferred.promise.told()
    #expect(log.all == ["0.125", "0.5", "1.0", "value 7"])
    #expect(reports.all.count == 0)
  }

  // Fails if 1 is told a second time when it was reported before.
  @Test("1 is told once")
  func oneOnce() async {
    let deferred = deferred()
    let log = heard(deferred.promise)
    deferred.progress(1)
    deferred.fulfill(1)
    await deferred.promise.told()
    expect(log, [1])
  }

  // Fails if failing tells a progress.
  @Test("failing tells no progress", .shows(Progressing.end))
  func failing() async {
    let deferred = deferred()
    let log = heard(deferred.promise)
    deferred.progress(0.25)
    deferred.fail(Failed())
    await deferred.promise.told()
    expect(log, [0.25])
  }

  // Fails if a late listener is not told, or is told 0.
  @Test("a late listener is told what was reached, if that is above 0", .shows(Progressing.late))
  func late() async {
    let (some, none, done, failed) = (deferred(), deferred(), deferred(), deferred())
    some.progress(0.5)
    done.fulfill(1)
    failed.progress(0.75)
    failed.fail(Failed())
    let logs = [some, none, done, failed].map { heard($0.promise) }
    some.fulfill(1)
    none.fail(Failed())
    for deferred in [some, none, done, failed] { await deferred.promise.told() }
    expect(logs[0], [0.5, 1])
    expect(logs[1], [])
    expect(logs[2], [1])
    expect(logs[3], [0.75])
  }

  // Fails if a misuse is silent, or changes something.
  @Test(
    "a fall, a value over 1 and no number are reported and change nothing",
    .shows(Progressing.range))
  func misuse() {
    let deferred = deferred()
    deferred.progress(0.5)
    for wrong in [0.25, 1.5, -1, Double.nan, .infinity] { deferred.progress(wrong) }
    #expect(deferred.promise.progress == 0.5)
    #expect(reports.all.count == 5)
    let identity = deferred.promise.core.origin.identity
    #expect(
      reports.all.first == .promiseProgressIgnored(identity, current: 0.5, reported: 0.25))
    deferred.fulfill(1)
    deferred.progress(1)
    #expect(reports.all.count == 6, "after the end")
  }

  // Fails if noise is told, or reported as a misuse, or more than 1 reaches a listener.
  @Test(
    "less than the smallest step of a Float is ignored, and values are clamped",
    .shows(Progressing.range))
  func smallestStep() async {
    let deferred = deferred()
    let (log, step) = (heard(deferred.promise), Double(Float.ulpOfOne))
    deferred.progress(0.5)
    for noise in [0.5 + step, 0.5 - step, 0.5] { deferred.progress(noise) }
    deferred.progress(0.5 + 2 * step)
    deferred.progress(1 + step)
    deferred.fulfill(1)
    await deferred.promise.told()
    #expect(log.all == [0.5, 0.5 + 2 * step, 1])
    #expect(reports.all.count == 0)
  }

  // Fails if a link does not count p·d/(d+1), or the inner promise not the rest: 1/2 each.
  @Test("then: one half for the outer promise, one half for the inner", .shows(Progressing.then))
  func then() async {
    let (outer, inner) = (deferred(), deferred())
    let promise = outer.promise.then { _ in inner.promise }
    let log = heard(promise)
    outer.progress(0.5)
    #expect(promise.progress == 0.25)
    outer.fulfill(1)
    await outer.promise.told()
    inner.progress(0.5)
    inner.fulfill(2)
    await promise.told()
    expect(log, [0.25, 0.5, 0.75, 1])
  }

  // Fails if depth is not counted: a third of the work is a third, however it is chained.
  @Test("a chain of three counts a third each", .shows(Progressing.then))
  func chain() async {
    let parts = [deferred(), deferred(), deferred()]
    let promise = parts[0].promise.then { _ in parts[1].promise }.then { _ in parts[2].promise }
    let log = heard(promise)
    parts[0].progress(0.5)
    parts[0].fulfill(1)
    await parts[0].promise.told()
    parts[1].progress(0.75)
    parts[1].fulfill(1)
    await parts[1].promise.told()
    await settled()
    parts[2].progress(0.5)
    parts[2].fulfill(1)
    await promise.told()
    expect(log, [1 / 6, 1 / 3, 1 / 3 + 0.25, 2 / 3, 5 / 6, 1])
  }

  /// What was made runnable before has run, as far as one handler makes another runnable.
  private func settled() async {
    for _ in 0..<5 { await Promise.value(0).told() }
  }

  // Fails if progress is right only while somebody listens.
  @Test("it can be asked for, and heard late, without a listener from the start")
  func unwatched() async {
    let (outer, inner) = (deferred(), deferred())
    let promise = outer.promise.then { _ in inner.promise }.map { $0 }
    outer.progress(0.5)
    #expect(promise.progress == 0.25)
    outer.fulfill(1)
    await outer.promise.told()
    await settled()
    inner.progress(0.5)
    #expect(promise.progress == 0.75)
    let log = heard(promise)
    inner.fulfill(1)
    await promise.told()
    expect(log, [0.75, 1])
  }

  // Fails if words that are no work of their own count as a step.
  @Test("map, tap, finally, recover and catch count nothing", arguments: 0..<5)
  func passages(_ word: Int) async {
    let work = deferred()
    let promise =
      switch word {
      case 0: work.promise.map { $0 }
      case 1: work.promise.tap { _ in }
      case 2: work.promise.finally {}
      case 3: work.promise.recover { _ in 1 }
      default: work.promise.catch { _ in }.map { 1 }
      }
    let log = heard(promise)
    work.progress(0.5)
    work.fulfill(1)
    await promise.told()
    expect(log, [0.5, 1])
  }

  // Fails if the recovery does not fill what is left: bias = progress so far, fraction = 1 − bias.
  @Test(
    "recover: passed through, and the recovery fills what is left", .shows(Progressing.recovery))
  func recover() async {
    let (outer, recovery) = (deferred(), deferred())
    let promise = outer.promise.recover { _ in recovery.promise }
    let log = heard(promise)
    outer.progress(0.5)
    outer.fail(Failed())
    await outer.promise.told()
    await settled()
    recovery.progress(0.5)
    recovery.fulfill(1)
    await promise.told()
    expect(log, [0.5, 0.75, 1])
  }

  // Fails if a failed promise's progress counts as done in the chain.
  @Test("a failure on the way leaves the chain's progress where it was")
  func failureInChain() async {
    let (outer, inner) = (deferred(), deferred())
    let promise = outer.promise.then { _ in inner.promise }.then { .value($0) }
    let log = heard(promise)
    outer.fulfill(1)
    await outer.promise.told()
    await settled()
    inner.progress(0.5)
    inner.fail(Failed())
    await promise.told()
    #expect(abs(promise.progress - 0.5) < 1e-9)
    expect(log, [1 / 3, 0.5])
  }

  // Fails if the outer promise's own progress, or none, is taken for the adopted one's.
  @Test("a promise that is resolved with another has that one's progress")
  func adoption() async {
    let (outer, inner) = (deferred(), deferred())
    inner.progress(0.25)
    let log = heard(outer.promise)
    inner.promise.relay(to: outer)
    #expect(outer.promise.progress == 0.25)
    inner.progress(0.5)
    outer.progress(0.75)
    #expect(reports.all.count == 1, "no more its owner's to say")
    inner.fulfill(1)
    await outer.promise.told()
    expect(log, [0.25, 0.5, 1])
  }

  // Fails if asking for the progress of promises that wait for one another never returns.
  @Test("promises that were resolved with one another make no progress, and no endless loop")
  func circle() async {
    let (one, other) = (deferred(), deferred())
    one.promise.progressed { _ in }
    one.promise.relay(to: other)
    other.promise.relay(to: one)
    #expect(one.promise.progress == 0)
    #expect(other.promise.map { $0 }.map { $0 }.progress == 0)
  }

  // Fails if they do not count one half each.
  @Test(
    "a promise of a promise: one half for each of the two", .shows(Progressing.join),
    arguments: [false, true])
  func join(fails: Bool) async {
    let (outer, inner) = (Deferred<Promise<Int>>(), deferred())
    let promise = outer.promise.then { $0 }
    let log = heard(promise)
    outer.progress(0.5)
    outer.fulfill(inner.promise)
    await outer.promise.told()
    await settled()
    inner.progress(0.5)
    if fails { inner.fail(Failed()) } else { inner.fulfill(1) }
    await promise.told()
    expect(log, [0.25, 0.5, 0.75] + (fails ? [] : [1]))
  }
}
