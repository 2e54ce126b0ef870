import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// The progress that the asynchronous work of a step reports.
struct ReportedProgressTests {
  private let reports = Reports()
  private var manager: PromiseManager { PromiseManager(diagnostics: reports.place) }

  /// A way to run asynchronous work as a step.
  enum Kind: CaseIterable, Sendable {
    case run, turn, namedTurn, enqueue, promise, link

    /// Runs the work, and waits for its end.
    func work(
      in manager: PromiseManager, _ diagnostics: DiagnosticHandler,
      _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
      switch self {
      case .run: try await manager.run(body)
      case .turn: try await manager.withTurn { try await body() }
      case .namedTurn: try await manager.withTurn("turn") { try await body() }
      case .enqueue: try await manager.enqueue(body).value
      case .promise:
        let promise = Promise(diagnostics: diagnostics, body)
        manager.add(promise)
        try await promise.value
      case .link:
        // The root is done before the body begins.
        let promise = Promise(diagnostics: diagnostics) { resolve, _ in resolve(1) }
          .map { _ in try await body() }
        manager.add(promise)
        try await promise.value
      }
    }

    /// The progress of the step when its work has reported `fraction`.
    func progress(_ fraction: Double) -> Double {
      self == .link ? 0.5 + fraction / 2 : fraction
    }
  }

  // Fails if a kind of work is not marked, or its report does not reach the step.
  @Test(
    "what asynchronous work reports is the progress of its step and counts in the manager's",
    .shows(Progressing.work), arguments: Kind.allCases)
  func steps(_ kind: Kind) async throws {
    let (manager, log) = (manager, Log<Double>())
    try await kind.work(in: manager, reports.place) {
      for fraction in [0.25, 0.5, 1] {
        reportProgress(fraction)
        log.append(manager.progress)
      }
    }
    #expect(log.all == [0.25, 0.5, 1].map(kind.progress))
    await manager.idle()
    #expect(manager.progress == 1 && reports.all.isEmpty)
  }

  // Fails if the step's progress does not reach the promise, its listeners or its dependents.
  @Test("an enqueued step and its promise have the same progress", .shows(Progressing.work))
  func enqueued() async throws {
    let (manager, half, proceed) = (manager, Gate(), Gate())
    let promise = manager.enqueue {
      reportProgress(0.5)
      half.open()
      await proceed.passed()
      reportProgress(0.75)
    }
    let (log, chained) = (Log<Double>(), Log<Double>())
    promise.progressed { log.append($0) }
    let chain = promise.then { .value(1) }.progressed { chained.append($0) }
    await half.passed()
    #expect(promise.progress == 0.5 && chain.progress == 0.25 && manager.progress == 0.5)
    proceed.open()
    await chain.waitForHandlers()
    await promise.waitForHandlers()
    #expect(log.all == [0.5, 0.75, 1])
    // Not 0.5, if another thread fulfills the chain before the end of the source has reached it.
    #expect(chained.all.filter { $0 != 0.5 } == [0.25, 0.375, 1])
  }

  // Fails if a report of the work in a turn counts for the work that contains it.
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

  // Fails if a step within a step reports for the outer one, or an outer one reports nothing afterwards.
  @Test("steps of two managers, one in the other, report for themselves", arguments: Kind.allCases)
  func nested(_ kind: Kind) async throws {
    let (outer, inner, log) = (manager, manager, Log<Double>())
    try await outer.run {
      try await kind.work(in: inner, reports.place) {
        reportProgress(0.5)
        log.append(inner.progress)
        log.append(outer.progress)
      }
      reportProgress(0.25)
      log.append(outer.progress)
    }
    #expect(log.all == [kind.progress(0.5), 0, 0.25])
  }

  // Fails if a child task is not part of the work.
  @Test("child tasks and tasks of the work report for it", arguments: Kind.allCases)
  func children(_ kind: Kind) async throws {
    let (manager, log) = (manager, Log<Double>())
    try await kind.work(in: manager, reports.place) {
      async let first: Void = reportProgress(0.25)
      await first
      log.append(manager.progress)
      await withTaskGroup(of: Void.self) { group in group.addTask { reportProgress(0.5) } }
      log.append(manager.progress)
      await Task { reportProgress(0.75) }.value
      log.append(manager.progress)
      await Task.detached { reportProgress(1) }.value
      log.append(manager.progress)
    }
    #expect(log.all == [0.25, 0.5, 0.75, 0.75].map(kind.progress))
  }

  // Fails if a task that outlives the work reports for the next step, or is reported as a misuse.
  @Test("after the end of the work, a report has no effect", arguments: Kind.allCases)
  func late(_ kind: Kind) async throws {
    let (manager, proceed, task) = (manager, Gate(), Locked<Task<Void, Never>?>(nil))
    let work = Locked<AsyncWork?>(nil)
    try await kind.work(in: manager, reports.place) {
      let made = Task {
        await proceed.passed()
        reportProgress(0.5)
      }
      task.withLock { $0 = made }
      work.withLock { $0 = .current }
    }
    await manager.idle()
    try await manager.run {
      proceed.open()
      await task.withLock { $0 }?.value
      work.withLock { $0 }?.progress(0.5)
      #expect(manager.progress == 0)
    }
    #expect(reports.all.isEmpty)
  }

  // Fails if a misuse has an effect, or is not reported.
  @Test(
    "a decrease, a value outside 0…1 and NaN are reported and ignored", arguments: Kind.allCases)
  func misuse(_ kind: Kind) async throws {
    let (manager, log) = (manager, Log<Double>())
    try await kind.work(in: manager, reports.place) {
      reportProgress(0.5)
      for wrong in [0.25, 1.5, -1, Double.nan, .infinity] { reportProgress(wrong) }
      log.append(manager.progress)
    }
    #expect(log.all == [kind.progress(0.5)])
    #expect(reports.all.count == 5)
    for report in reports.all {
      #expect("\(report)".contains("after 0.5; ignored"))
    }
  }

  // Fails if the canceled promise of `enqueue` changes, or its step no longer progresses.
  @Test("canceled work that continues reports for its step")
  func canceled() async throws {
    let (manager, begun, proceed, log) = (manager, Gate(), Gate(), Log<Double>())
    let promise = manager.enqueue {
      reportProgress(0.25)
      begun.open()
      await proceed.passed()
      reportProgress(0.5)
      log.append(manager.progress)
    }
    await begun.passed()
    #expect(promise.cancel())
    proceed.open()
    await manager.idle()
    #expect(log.all == [0.5] && promise.progress == 0.25 && reports.all.isEmpty)
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
    arguments: Kind.allCases)
  func added(_ kind: Kind) async throws {
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
      try await kind.work(in: manager, reports.place) { try await body(isPaused) }
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
  @Test("the sequence of a combination reports nothing for the work", arguments: Kind.allCases)
  func sequence(_ kind: Kind) async throws {
    let (manager, log) = (manager, Log<Bool>())
    try await kind.work(in: manager, reports.place) {
      let numbers = [1, 2, 3].lazy.map { number in
        log.append(AsyncWork.current == nil)
        return Promise.value(number)
      }
      _ = try await when(numbers, concurrently: 1).value
    }
    #expect(log.all == [true, true, true])
  }

  // Fails if the work is not found on another thread.
  @Test("a callback on another thread reports by the work", arguments: Kind.allCases)
  func callback(_ kind: Kind) async throws {
    let (manager, log) = (manager, Log<Double>())
    try await kind.work(in: manager, reports.place) {
      let work = AsyncWork.current
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          reportProgress(0.25)
          work?.progress(0.5)
          continuation.resume()
        }
      }
      log.append(manager.progress)
    }
    #expect(log.all == [kind.progress(0.5)])
  }

  // Fails if a handle has the progress of another step, or the states are confused.
  @Test("a handle has the progress of its step, and the manager's is their mean")
  func handles() async {
    let (manager, first, second) = (manager, Taken(), Taken())
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
    await clock.waitForSleeper()
    clock.advance(by: .seconds(1))
    #expect(await text(handle.outcome).hasPrefix("failed"))
    #expect(handle.progress == 0.5 && manager.progress == 0.5)
    taken.call()
    #expect(handle.progress == 1 && manager.progress == 1)
  }
}
