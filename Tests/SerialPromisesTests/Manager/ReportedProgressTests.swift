import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// The progress that the asynchronous work of a step reports.
struct ReportedProgressTests {
  private let reports = Reports()
  private var manager: PromiseManager { PromiseManager(diagnostics: reports.place) }

  /// The progress of a step whose code has reported `fraction`.
  private func progress(_ code: Code, _ fraction: Double) -> Double {
    code == .link ? 0.5 + fraction / 2 : fraction
  }

  /// A way to report progress in the code of a step.
  struct Way: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// What the code has reported at each note.
    let expected: [Double]
    var misuses = 0
    let report: @Sendable (_ note: @Sendable () -> Void) async -> Void

    static let all = [
      Way(testDescription: "itself", expected: [0.25, 0.5, 1]) { note in
        for fraction in [0.25, 0.5, 1] {
          reportProgress(fraction)
          note()
        }
      },
      Way(testDescription: "in child tasks and tasks", expected: [0.25, 0.5, 0.75, 0.75]) { note in
        async let first: Void = reportProgress(0.25)
        await first
        note()
        await withTaskGroup(of: Void.self) { group in group.addTask { reportProgress(0.5) } }
        note()
        await Task { reportProgress(0.75) }.value
        note()
        await Task.detached { reportProgress(1) }.value
        note()
      },
      Way(testDescription: "in a callback on another thread", expected: [0.5]) { note in
        let work = AsyncWork.current
        await withCheckedContinuation { continuation in
          DispatchQueue.global().async {
            reportProgress(0.25)
            work?.progress(0.5)
            continuation.resume()
          }
        }
        note()
      },
      Way(testDescription: "decreasing, outside 0…1 or NaN", expected: [0.5], misuses: 5) { note in
        reportProgress(0.5)
        for wrong in [0.25, 1.5, -1, Double.nan, .infinity] { reportProgress(wrong) }
        note()
      },
    ]
  }

  // Fails if a kind of code is not marked, a child task is not part of it, its report does not
  // reach the step, or a misuse has an effect or is not reported.
  @Test(
    "what asynchronous code reports is the progress of its step and counts in the manager's",
    .shows(Progressing.work), arguments: Code.allCases, Way.all)
  func steps(_ code: Code, _ way: Way) async throws {
    let (manager, log) = (manager, Log<Double>())
    try await code.perform(on: manager, diagnostics: reports.place) {
      await way.report { log.append(manager.progress) }
    }
    await manager.idle()
    #expect(log.all == way.expected.map { progress(code, $0) } && manager.progress == 1)
    #expect(reports.all.count { "\($0)".contains("after 0.5; ignored") } == way.misuses)
    #expect(reports.all.count == way.misuses)
  }

  // Fails if the step's progress does not reach the promise, its listeners or its dependents.
  @Test("an enqueued step and its promise have the same progress", .shows(Progressing.work))
  func enqueued() async throws {
    let (manager, code) = (manager, HeldCode())
    let promise = manager.enqueue {
      reportProgress(0.5)
      await code()
      reportProgress(0.75)
    }
    let (log, chained) = (Log<Double>(), Log<Double>())
    promise.progressed { log.append($0) }
    let chain = promise.then { .value(1) }.progressed { chained.append($0) }
    await code.begun.passed()
    #expect([promise.progress, chain.progress, manager.progress] == [0.5, 0.25, 0.5])
    code.proceed.open()
    await chain.waitForHandlers()
    await promise.waitForHandlers()
    #expect(log.all == [0.5, 0.75, 1])
    // Not 0.5, if another thread fulfills the chain before the end of the source has reached it.
    #expect(chained.all.filter { $0 != 0.5 } == [0.25, 0.375, 1])
  }

  // Fails if a promise's work is not marked, or a report of the work in a turn counts for the work
  // around it.
  @Test(
    "a report counts for the innermost work: of a turn in a promise's work",
    .shows(Progressing.work),
    arguments: [false, true])
  func turnInPromise(isStep: Bool) async throws {
    let (outer, inner) = (manager, manager)
    let promise = Promise(diagnostics: reports.place) {
      reportProgress(0.25)
      let progress = try await inner.withTurn {
        reportProgress(0.5)
        return inner.progress
      }
      reportProgress(0.75)
      return progress
    }
    let log = Log<Double>()
    promise.progressed { log.append($0) }
    if isStep { outer.add(promise) }
    #expect(try await promise.value == 0.5)
    await promise.waitForHandlers()
    #expect(log.all == [0.25, 0.75, 1])
    #expect(reports.all.isEmpty)
  }

  // Fails if the work of a promise reports for the step in whose task it was made.
  @Test(
    "a report counts for the innermost work: of a promise in a step", .shows(Progressing.work),
    arguments: [false, true])
  func promiseInStep(isLink: Bool) async throws {
    let (manager, proceed) = (manager, Gate())
    let log = Log<Double>()
    try await manager.run {
      reportProgress(0.25)
      let promise =
        isLink
        ? Promise<Int>.value(1).map { _ in
          await proceed.passed()
          reportProgress(0.5)
        } : Promise { reportProgress(0.5) }
      promise.progressed { log.append($0) }
      proceed.open()
      try await promise.value
      await promise.waitForHandlers()
      #expect(manager.progress == 0.25)
      reportProgress(0.5)
      #expect(manager.progress == 0.5)
    }
    // The listener of the link may be too late for 0.5, at which its source ended.
    #expect(log.all.filter { !isLink || $0 != 0.5 } == (isLink ? [0.75, 1] : [0.5, 1]))
    #expect(reports.all.isEmpty)
  }

  // Fails if a step within a step reports for the outer one, or an outer one reports nothing
  // afterwards.
  @Test("steps of two managers, one in the other, report for themselves", arguments: Code.allCases)
  func nested(_ code: Code) async throws {
    let (outer, inner, log) = (manager, manager, Log<Double>())
    try await outer.run {
      try await code.perform(on: inner, diagnostics: reports.place) {
        reportProgress(0.5)
        log.append(inner.progress)
        log.append(outer.progress)
      }
      reportProgress(0.25)
      log.append(outer.progress)
    }
    #expect(log.all == [progress(code, 0.5), 0, 0.25])
  }

  // Fails if a task that outlives the work reports for the next step, or is reported as a misuse.
  @Test("after the end of the work, a report has no effect", arguments: Code.allCases)
  func late(_ code: Code) async throws {
    let (manager, proceed, left) = (manager, Gate(), Log<(Task<Void, Never>, AsyncWork?)>())
    try await code.perform(on: manager, diagnostics: reports.place) {
      let task = Task {
        await proceed.passed()
        reportProgress(0.5)
      }
      left.append((task, .current))
    }
    await manager.idle()
    try await manager.run {
      proceed.open()
      for (task, work) in left.all {
        await task.value
        work?.progress(0.5)
      }
      #expect(manager.progress == 0 && left.count == 1)
    }
    #expect(reports.all.isEmpty)
  }

  // Fails if the canceled promise of `enqueue` changes, its step no longer progresses, its task is
  // not canceled, or the next step runs at the same time.
  @Test("canceled work that continues reports for its step, and the next one waits for it")
  func canceled() async {
    let (manager, code, log) = (manager, HeldCode(), Log<Double>())
    let promise = manager.enqueue {
      reportProgress(0.25)
      await code()
      reportProgress(0.5)
      log.append(Task.isCancelled ? manager.progress : -1)
    }
    let next = manager.add { then in
      log.append(2)
      then()
    }
    await code.begun.passed()
    #expect(promise.cancel() && text(promise.state) == "failed CancellationError()")
    code.proceed.open()
    #expect(text(await next.outcome) == "succeeded")
    #expect(log.all == [0.25, 2] && promise.progress == 0.25 && reports.all.isEmpty)
  }

  // Fails if code that is in no work, or whose handler is synchronous, reports for a step.
  @Test("outside asynchronous work, a report has no effect")
  func outside() async throws {
    reportProgress(0.5)
    #expect(AsyncWork.current == nil)
    let (manager, log) = (manager, Log<Double>())
    let handle = manager.add { then in
      reportProgress(0.5)
      log.append(manager.progress)
      then()
    }
    try await handle.outcome.get()
    let promise = Promise<Int>(diagnostics: reports.place) { resolve, _ in
      reportProgress(0.5)
      log.append(manager.progress)
      resolve(1)
    }
    .map { number in
      reportProgress(0.5)
      return number
    }
    .finally { reportProgress(0.5) }
    .tap { _ in log.append(manager.progress) }
    manager.add(promise)
    _ = try await promise.value
    // The root of the promise is done when the others run.
    #expect(log.all == [0, 0, 1] && reports.all.isEmpty)
  }

  // Fails if the handler begins on the thread of the work, and inherits its mark.
  @Test(
    "a step that work adds to an idle manager reports nothing for the work",
    arguments: Code.allCases)
  func added(_ code: Code) async throws {
    let (manager, other, log) = (manager, manager, Log<Double>())
    let body = { @Sendable (isPaused: Bool) async throws in
      if isPaused { other.pause() }
      let handle = other.add { then in
        reportProgress(0.5)
        // Debug builds mark the handler, which hides the work; but not the task.
        log.append(AsyncWork.current == nil && withUnsafeCurrentTask { $0 == nil } ? 0 : 1)
        then()
      }
      if isPaused { other.resume() }
      try await handle.outcome.get()
    }
    for isPaused in [false, true] {
      try await code.perform(on: manager, diagnostics: reports.place) { try await body(isPaused) }
      // Not a step of a manager.
      let promise = Promise {
        try await body(isPaused)
        log.append(0)
      }
      let progress = Log<Double>()
      promise.progressed { progress.append($0) }
      try await promise.value
      await promise.waitForHandlers()
      #expect(progress.all == [1])
    }
    #expect(log.all == [0, 0, 0, 0, 0, 0] && reports.all.isEmpty)
  }

  // Fails if the first promises, which are pulled on the thread of the work, are made by it.
  @Test("the sequence of a combination reports nothing for the work", arguments: Code.allCases)
  func sequence(_ code: Code) async throws {
    let (manager, log) = (manager, Log<Bool>())
    try await code.perform(on: manager, diagnostics: reports.place) {
      let numbers = [1, 2, 3].lazy.map { number in
        log.append(AsyncWork.current == nil)
        return Promise.value(number)
      }
      _ = try await when(numbers, concurrently: 1).value
    }
    #expect(log.all == [true, true, true])
  }

  // Fails if a handle has the progress of another step, or a step is counted wrongly: one that
  // waits, runs, has failed, was canceled or was refused.
  @Test(
    "a handle has the progress of its step, and the manager's is their mean since it was last idle",
    .shows(Progressing.manager))
  func handles() {
    let (manager, first, second) = (manager, Taken(), Taken())
    #expect(manager.progress == 1)
    let handles = [manager.add(first.handler), manager.add(second.handler), manager.add { $0() }]
    func expect(_ progress: [Double], location: SourceLocation = #_sourceLocation) {
      #expect(handles.map(\.progress) == progress, sourceLocation: location)
      #expect(abs(manager.progress - progress.reduce(0, +) / 3) < 1e-9, sourceLocation: location)
    }
    expect([0, 0, 0])
    _ = first.with { $0.progress(0.5) }
    expect([0.5, 0, 0])
    first.call(Failed())
    expect([1, 0, 0])
    _ = second.with { $0.progress(0.25) }
    expect([1, 0.25, 0])
    handles[2].cancel()
    expect([1, 0.25, 1])
    second.call()
    expect([1, 1, 1])
    let again = manager.hold()
    #expect(manager.progress == 0)
    again.call()
    manager.close()
    #expect(manager.add { $0() }.progress == 1, "refused")
  }

  // Fails if a step that still runs counts as done in its handle, or is reported as canceled.
  @Test("a step that has timed out has the progress of its work until it ends")
  func timedOut() async {
    let clock = ManualClock()
    let (manager, taken) = (manager, Taken())
    let handle = manager.add(Step(nil, taken.handler).timeout(.seconds(1), clock: clock))
    _ = taken.with { $0.progress(0.5) }
    await clock.elapse(.seconds(1))
    #expect(await text(handle.outcome).hasPrefix("failed"))
    #expect(handle.progress == 0.5 && manager.progress == 0.5)
    taken.call()
    #expect(handle.progress == 1 && manager.progress == 1)
  }
}
