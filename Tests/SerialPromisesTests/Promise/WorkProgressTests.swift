import TestSupport
import Testing

@testable import SerialPromises

/// The progress that the asynchronous work of a promise reports.
struct WorkProgressTests {
  private let reports = Reports()

  // Fails, or does not end, if a link has not the share of its depth, or starts below its source's.
  @Test("each asynchronous link of a chain reports its share", .shows(Progressing.work))
  func chain() async {
    let received = Gate()
    let promise = Promise { reportProgress(0.5) }
      .map { () async -> Int in
        reportProgress(0.5)
        return 1
      }
      .then { number async -> Promise<Int> in
        reportProgress(0.5)
        return Promise {
          reportProgress(0.5)
          // Otherwise it may end before the link depends on it.
          await received.passed()
          return number
        }
      }
    let log = promise.recordedProgress()
    promise.progressed { if $0 > 0.9 { received.open() } }
    await promise.waitForHandlers()
    // The third part is the handler's until it returns, and then its promise's.
    // At the ends of the first two, a link may be settled before it receives them.
    log.expect([1 / 6, 1 / 2, 5 / 6, 11 / 12, 1], ends: [1 / 3, 2 / 3])
  }

  // Fails if the recovery's report replaces the progress of the failed promise.
  @Test("an asynchronous recovery reports the remaining progress")
  func recovery() async {
    let promise = Promise<Int>(diagnostics: reports.place) {
      reportProgress(0.5)
      throw Failed()
    }
    .recover { _ in
      await Task.yield()
      reportProgress(0.5)
      return 1
    }
    let log = promise.recordedProgress()
    await promise.waitForHandlers()
    log.expect([0.5, 0.75, 1])
  }

  // Fails if cleanup contributes, also as part of a step.
  @Test("the report of a cleanup has no effect", arguments: [false, true])
  func cleanup(isStep: Bool) async {
    let (manager, seen) = (PromiseManager(), Log<Double>())
    let promise = Promise<Int>(diagnostics: reports.place) {
      reportProgress(0.25)
      throw Failed()
    }
    .finally {
      await Task.yield()
      reportProgress(0.5)
      seen.append(manager.progress)
    }
    let log = promise.recordedProgress()
    if isStep { manager.add(promise) }
    await promise.waitForHandlers()
    log.expect([0.25])
    #expect(seen.all == [isStep ? 0.25 : 1])
  }

  // Fails if a canceled promise changes, or its work is reported as a misuse.
  @Test("the work of a canceled promise reports nothing", arguments: [false, true])
  func canceled(isLink: Bool) async {
    let (begun, proceed, ended) = (Gate(), Gate(), Gate())
    let work = { @Sendable () async in
      reportProgress(0.5)
      begun.open()
      await proceed.passed()
      reportProgress(0.75)
      reportProgress(0.25)
      ended.open()
    }
    let promise =
      isLink
      ? Promise<Int>.value(1).map { _ in await work() }
      : Promise(diagnostics: reports.place) { await work() }
    promise.start()
    await begun.passed()
    let progress = promise.progress
    #expect(promise.cancel())
    proceed.open()
    await ended.passed()
    #expect(promise.progress == progress && reports.all.isEmpty)
  }

  // Fails if only the progress of the promise is checked, of which the link reports the second
  // half.
  @Test("a report of a link that is no fraction is refused, without a listener as well")
  func misuse() async throws {
    let promise = Promise<Int>(diagnostics: reports.place) { resolve, _ in resolve(1) }
      .then { number async -> Promise<Int> in
        reportProgress(-0.5)
        return .value(number)
      }
    #expect(try await promise.value == 1)
    #expect(reports.all.count == 1)
  }

  // Fails, or does not end, if the work of an attempt reports for another one, or a retried promise
  // falls.
  @Test("each attempt of a retried promise reports the remaining progress")
  func attempts() async {
    let (attempts, received) = (Locked(0), Gate())
    let promise = Promise<Int>(diagnostics: reports.place) {
      reportProgress(0.5)
      if attempts.next() == 1 { throw Failed() }
      // Otherwise it may end before the retry depends on it.
      await received.passed()
      return 1
    }
    .retry(1)
    let log = promise.recordedProgress()
    promise.progressed { if $0 > 0.5 { received.open() } }
    await promise.waitForHandlers()
    log.expect([0.5, 0.75, 1])
    #expect(reports.all.isEmpty)
  }

  // Hangs if `PromiseWork` retains the promise after the end of its work.
  @Test(
    "a task that outlives the work does not retain the promise", .shows(Promising.noLeaks),
    arguments: [false, true])
  func release(isLink: Bool) async throws {
    let (proceed, rest) = (Gate(), Locked<Task<Void, Never>?>(nil))
    let work = { @Sendable () async in
      let task = Task { await proceed.passed() }
      rest.withLock { $0 = task }
    }
    let core = try await {
      let promise =
        isLink ? Promise<Int>.value(1).map { _ in await work() } : Promise { await work() }
      try await promise.value
      return Watched(promise.core)
    }()
    while !core.isGone { await Task.yield() }
    proceed.open()
    await rest.withLock { $0 }?.value
  }
}
