import TestSupport
import Testing

@testable import SerialPromises

/// The progress of a promise: the values of the reference implementation.
struct PromiseProgressTests {
  private let reports = Reports()

  private func deferred() -> Deferred<Int> { Deferred("work", diagnostics: reports.place) }

  // Fails if progress does not start at 0, or is not 1 when the promise is fulfilled.
  @Test(
    "progress starts at 0, and is 1 when fulfilled; a failure does not change it",
    .shows(Progressing.range, Progressing.end))
  func ends() {
    let (good, bad) = (deferred(), deferred())
    #expect(good.promise.progress == 0)
    good.fulfill(1)
    bad.progress(0.3)
    #expect(bad.tryFail(Failed()))
    #expect([good.promise, bad.promise, .value(1)].map(\.progress) == [1, 0.3, 1])
  }

  // Fails if an increase is reported twice or not at all, or 1 is reported after the value.
  @Test("each increase is reported once, and 1 before the value", .shows(Progressing.end))
  func rises() async {
    let (log, deferred) = (Log<String>(), deferred())
    deferred.promise.fulfilled { log.append("value \($0)") }.progressed { log.append("\($0)") }
    for fraction in [0.125, 0.125, 0.5] { deferred.progress(fraction) }
    deferred.fulfill(7)
    await deferred.promise.waitForHandlers()
    #expect(log.all == ["0.125", "0.5", "1.0", "value 7"] && reports.all.isEmpty)
  }

  // Fails if a late listener receives nothing, or receives 0.
  @Test("a late listener receives the current progress, if it is above 0", .shows(Progressing.late))
  func late() async {
    let (some, none, done, failed) = (deferred(), deferred(), deferred(), deferred())
    some.progress(0.5)
    done.fulfill(1)
    failed.progress(0.75)
    failed.fail(Failed())
    let promises = [some, none, done, failed].map(\.promise)
    let logs = promises.map { $0.recordedProgress() }
    some.fulfill(1)
    none.fail(Failed())
    for promise in promises { await promise.waitForHandlers() }
    #expect(logs.map(\.all) == [[0.5, 1], [], [1], [0.75]])
  }

  // Fails if a misuse is not reported, or has an effect.
  @Test(
    "a decrease, a value above 1 and NaN are reported and ignored",
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

  // Fails if rounding noise reaches a listener or is reported as misuse, or a value above 1 reaches
  // a listener.
  @Test(
    "a change below the precision of Float is ignored, and values are clamped",
    .shows(Progressing.range))
  func smallestStep() async {
    let deferred = deferred()
    let (log, step) = (deferred.promise.recordedProgress(), Double(Float.ulpOfOne))
    deferred.progress(0.5)
    for noise in [0.5 + step, 0.5 - step, 0.5] { deferred.progress(noise) }
    deferred.progress(0.5 + 2 * step)
    deferred.progress(1 + step)
    deferred.fulfill(1)
    await deferred.promise.waitForHandlers()
    #expect(log.all == [0.5, 0.5 + 2 * step, 1])
    #expect(reports.all.count == 0)
  }

  /// Promises that are made from parts, and what happens to these: one reaches a fraction, is
  /// fulfilled with 1, or fails with nil.
  struct Course: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let events: [(part: Int, fraction: Double?)]
    /// What a listener receives.
    let values: [Double]
    /// The progress after the first event.
    let first: Double?
    let make: @Sendable ([Promise<Int>]) -> Promise<Int>

    init(
      _ name: String, _ events: [(Int, Double?)], _ values: [Double], first: Double? = nil,
      _ make: @escaping @Sendable ([Promise<Int>]) -> Promise<Int>
    ) {
      (testDescription, self.events, self.values, self.make) = (name, events, values, make)
      self.first = first ?? values.first
    }

    private static let one: [(Int, Double?)] = [(0, 0.5), (0, 1)]
    private static let two: [(Int, Double?)] = [(0, 0.5), (0, 1), (1, 0.5), (1, 1)]
    private static let halves = [0.25, 0.5, 0.75, 1]

    static let all = [
      // Fails if a method without work of its own counts as a step.
      Course("map counts nothing", one, [0.5, 1]) { $0[0].map { $0 } },
      Course("tap counts nothing", one, [0.5, 1]) { $0[0].tap { _ in } },
      Course("finally counts nothing", one, [0.5, 1]) { $0[0].finally {} },
      Course("recover counts nothing", one, [0.5, 1]) { $0[0].recover { _ in 1 } },
      Course("catch counts nothing", one, [0.5, 1]) { $0[0].catch { _ in }.map { 1 } },
      Course("timeout counts nothing", one, [0.5, 1]) {
        $0[0].timeout(.seconds(1), clock: ManualClock())
      },
      Course("delay counts nothing", one, [0.5, 1]) { $0[0].delay(.zero, clock: ManualClock()) },
      Course("retry counts nothing", one, [0.5, 1]) { $0[0].retry(1) },
      // Fails if depth is ignored: a third of the work is a third, however it is chained.
      Course(
        "a chain of three counts a third each",
        [(0, 0.5), (0, 1), (1, 0.75), (1, 1), (2, 0.5), (2, 1)],
        [1 / 6, 1 / 3, 1 / 3 + 0.25, 2 / 3, 5 / 6, 1]
      ) { parts in parts[0].then { _ in parts[1] }.then { _ in parts[2] } },
      // Fails if a failed promise counts as done in the progress of its chain.
      Course("a failure in a chain does not count", [(0, 1), (1, 0.5), (1, nil)], [1 / 3, 0.5]) {
        parts in parts[0].then { _ in parts[1] }.then { .value($0) }
      },
      // Fails if the recovery does not fill the remainder: bias = progress so far, fraction = 1 −
      // bias.
      Course(
        "recover: forwards the source's progress, and the recovery fills the remainder",
        [(0, 0.5), (0, nil), (1, 0.5), (1, 1)], [0.5, 0.75, 1]
      ) { parts in parts[0].recover { _ in parts[1] } },
      // Fails if the two promises do not count one half each.
      Course("a promise of a promise: one half for each", two, halves) { parts in
        parts[0].map { _ in parts[1] }.then { $0 }
      },
      Course("the outer one is settled", one, [0.5, 0.75, 1], first: 0.75) { parts in
        Promise.value(parts[0]).then { $0 }
      },
      Course("one that fails", [(0, 0.5), (0, 1), (1, 0.5), (1, nil)], halves.dropLast()) { parts in
        parts[0].map { _ in parts[1] }.then { $0 }
      },
      // Fails if a plain value counts as work, or each link of a promise is counted.
      Course("chain: each of N steps counts 1/N", two, halves) { parts in
        SerialPromises.chain(initial: 0, [{ _ in parts[0] }, { _ in parts[1] }])
      },
      Course("chain: 1/(N+1) after a promise", two, halves) { parts in
        SerialPromises.chain(initial: parts[0].map { $0 }.map { $0 }, [{ _ in parts[1] }])
      },
      // Fails if the progress is not the mean, or a failed promise does not count as settled.
      Course("when: the mean", [(0, 0.5), (1, 1), (0, 1)], [0.25, 0.75, 1]) { parts in
        when([parts[0], parts[1]]).map { $0[0] }
      },
      Course("when(resolved:): a failure is done", [(0, 0.5), (0, nil), (1, 1)], [0.25, 0.5, 1]) {
        parts in when(resolved: [parts[0], parts[1]]).map { $0.count }
      },
      // Fails if the progress is not the maximum.
      Course("any: the maximum", [(0, 0.25), (1, 0.5), (0, 0.375), (0, 1)], [0.25, 0.5, 1]) {
        parts in Promise.any([parts[0], parts[1]])
      },
    ]
  }

  @Test(
    "the progress of a promise follows from that of the promises that it is made from",
    .shows(
      Progressing.then, .recovery, .join, .chain, .mean, .maximum), arguments: Course.all)
  func courses(_ course: Course) async {
    let parts = (0..<3).map { _ in deferred() }
    let promise = course.make(parts.map(\.promise))
    let log = promise.recordedProgress()
    for (part, fraction) in course.events {
      await hasDependent(parts[part].promise)
      switch fraction {
      case nil: parts[part].fail(Failed())
      case 1: parts[part].fulfill(1)
      case let fraction?: parts[part].progress(fraction)
      }
    }
    await promise.waitForHandlers()
    log.expect(course.values)
    #expect(abs(promise.progress - (course.values.last ?? 0)) < 1e-9)
  }

  /// Waits until another promise depends on this one: the handler that returns it runs on another
  /// thread.
  private func hasDependent(_ promise: Promise<Int>, isWatched: Bool = true) async {
    while promise.core.withLock({
      $0.targets(limit: 9)?.isEmpty == true || $0.isWatched != isWatched
    }) {
      await Task.yield()
    }
  }

  // Fails if the promise must be watched already: another thread may settle it while the listener
  // is added.
  @Test("a listener that is added while the promise is fulfilled receives the end")
  func fulfilledMeanwhile() async {
    let (work, log) = (deferred(), Log<Double>())
    let promise = work.promise.map { $0 }
    _ = promise.core.withLock { $0.listen { log.append($0) } }
    work.fulfill(1)
    await promise.waitForHandlers()
    #expect(log.all == [1])
  }

  // Fails if progress is correct only with a listener.
  @Test("progress can be read, and listened to late, without an earlier listener")
  func unwatched() async {
    let (outer, inner) = (deferred(), deferred())
    let promise = outer.promise.then { _ in inner.promise }.map { $0 }
    outer.progress(0.5)
    #expect(promise.progress == 0.25)
    outer.fulfill(1)
    await hasDependent(inner.promise, isWatched: false)
    inner.progress(0.5)
    #expect(promise.progress == 0.75)
    let log = promise.recordedProgress()
    inner.fulfill(1)
    await promise.waitForHandlers()
    log.expect([0.75, 1])
  }

  // Fails if only a listener makes the progress known, or the sources of a canceled promise count
  // no longer.
  @Test(
    "a canceled promise keeps its progress, without a listener as well",
    arguments: Course.all.filter { $0.events[0].fraction != 1 })
  func canceled(_ course: Course) async {
    let (parts, fraction) = ((0..<3).map { _ in deferred() }, course.events[0].fraction ?? 0)
    for part in parts { part.onCancel {} }
    let first = course.make(parts.map(\.promise))
    let (second, last) = (first.map { $0 }, first.map { $0 })
    await hasDependent(parts[0].promise, isWatched: false)
    parts[0].progress(fraction)
    #expect(first.cancel() && parts[0].promise.progress == fraction)
    #expect([first, second, last].map(\.progress) == Array(repeating: course.first, count: 3))
  }

  // Fails if the source, which others still want, counts no longer.
  @Test("one of two dependents that is canceled, and both, keep the progress of their source")
  func canceledDependents() async {
    let work = deferred()
    work.onCancel {}
    let (first, second) = (work.promise.map { $0 }, work.promise.then { .value($0) })
    work.progress(0.5)
    #expect(first.cancel() && first.progress == 0.5)
    work.progress(0.75)
    #expect(first.progress == 0.5)
    let task = Task { try await second.value }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(second.progress == 0.375 && work.promise.progress == 0.75)
  }

  /// A dependency on one promise, which calls a function when its inputs are visited for the first
  /// time.
  private final class Interrupted: Junction {
    let input: Core
    let visited = Locked<(@Sendable () -> Void)?>(nil)

    init(_ input: Core) { self.input = input }

    var sources: [Core] {
      visited.withLock { $0.take() }?()
      return [input]
    }
    var waitsForAll: Bool { true }
    func forEachSource(_ body: (Core, JunctionInput) -> Void) {}
    func settled(_ index: Int, _ source: Core, of result: Core, _ agenda: inout Agenda) {}
    func sourceIsLost() -> Bool { true }
    func progress(_ fraction: (Core) -> Double) -> Double { fraction(input) }
    func watch() -> Double { 0 }
    func advance(_ index: Int, to fraction: Double) -> Double? { nil }
    var recipe: Restart.Make? { nil }
  }

  // Fails if a reader counts what the inputs of a promise reach after it has been canceled.
  @Test("a promise that is canceled while its progress is read keeps that for its dependents, too")
  func canceledMeanwhile() {
    let (work, source, proceed) = (deferred(), Core(origin: Origin(nil, #fileID, #line)), Gate())
    defer { proceed.open() }
    let junction = Interrupted(work.core)
    source.depend(on: .combined(junction))
    let last = Promise<Int>(hot: source).finally { await proceed.passed() }
    work.progress(0.25)
    junction.visited.withLock {
      $0 = {
        source.cancel()
        work.fulfill(1)
      }
    }
    #expect(last.progress == 0.25 && source.progress == 0.25)
  }

  /// Why a promise fails while its source continues, or is done.
  enum Failure: CaseIterable { case timeout, canceledStep, cycle }

  // Fails if the promise is withdrawn from its source before its progress is known; if the end of a
  // step that has not begun settles the result of `serially` before that; or if a link's part,
  // which is done, counts no longer when the promise that it returned cannot be waited for.
  @Test(
    "a promise that fails, without a listener as well, keeps its progress",
    arguments: Failure.allCases)
  func failed(_ failure: Failure) async {
    let (work, clock, outer) = (deferred(), ManualClock(), Locked<Promise<Int>?>(nil))
    let manager = PromiseManager(diagnostics: reports.place)
    manager.pause()
    if failure == .canceledStep { work.onCancel {} }
    let promise =
      switch failure {
      case .timeout: work.promise.timeout(.seconds(1), clock: clock).start()
      case .canceledStep: manager.serially([work.promise]).map { $0[0] }
      case .cycle: work.promise.then { _ in outer.withLock { $0 } ?? .value(1) }
      }
    outer.withLock { $0 = promise }
    if failure == .cycle { work.fulfill(1) } else { work.progress(0.5) }
    if failure == .timeout { await clock.elapse(.seconds(1)) }
    manager.cancelAll()
    await promise.waitForHandlers()
    #expect(await promise.outcome.hasPrefix("failed") && promise.progress == 0.5)
    outer.withLock { $0 = nil }
  }

  // Fails if the progress of a source counts as that of the promise that the handler returned.
  @Test("progress that a thread propagates after its source is settled has no effect")
  func lateProgress() async {
    let (source, inner) = (Deferred<Int>(), Deferred<Int>())
    let last = source.promise.then { _ in inner.promise }.progressed { _ in }
    let late = source.core.withLock { $0.report(0.9).1 }
    source.fulfill(1)
    await source.promise.waitForHandlers()
    source.core.carryOut(late)
    #expect(last.progress == 0.5)
    inner.fulfill(2)
    #expect(await last.outcome == "2")
  }

  // Fails if the outer promise's own progress, or none, is used instead of the adopted one's.
  @Test("a promise that is resolved with another has the progress of that one")
  func adoption() async {
    let (outer, inner) = (deferred(), deferred())
    inner.progress(0.25)
    let log = outer.promise.recordedProgress()
    inner.promise.relay(to: outer)
    #expect(outer.promise.progress == 0.25)
    inner.progress(0.5)
    outer.progress(0.75)
    #expect(reports.all.count == 1, "the owner no longer reports progress")
    inner.fulfill(1)
    await outer.promise.waitForHandlers()
    log.expect([0.25, 0.5, 1])
  }

  // Fails under the thread sanitizer if `forEach` on a copy of the list reads what `remove` on
  // another thread writes: run with --sanitize=thread.
  @Test(
    "a listener may be withdrawn while another thread reports progress", .shows(Promising.callbacks)
  )
  func withdrawn() async {
    await inRounds(isLong ? 300 : 100 / ease) {
      let deferred = Deferred<Int>(diagnostics: .silent)
      let promises = (0..<20).map { _ in deferred.promise.map { $0 }.progressed { _ in } }
      return (deferred, promises)
    } _: { deferred, _ in
      for number in 1...50 { deferred.progress(Double(number) / 100) }
    } _: { _, promises in
      for promise in promises { promise.cancel() }
    } fault: { deferred, promises in
      let isCanceled = promises.allSatisfy { text($0.state) == "failed CancellationError()" }
      deferred.tryFulfill(1)
      return isCanceled ? nil : "a promise was not canceled"
    }
  }
}
