import TestSupport
import Testing

@testable import SerialPromises

/// User code runs without the lock.
///
/// Here it uses the manager that called it.
///
/// Each test hangs if its user code runs under the lock, which is not recursive.
@Suite(.allShow(Managing.noLock)) struct NoLockTests {
  /// An object of the user that uses the manager when it is released.
  private final class Reentry: Sendable {
    let manager = Locked<Weak?>(nil)
    let log = Log<Int>()

    struct Weak { weak var manager: PromiseManager? }

    init(_ manager: PromiseManager) {
      self.manager.withLock { $0 = Weak(manager: manager) }
    }

    func use() {
      guard let manager = manager.withLock({ $0 })?.manager else { return log.append(-1) }
      log.append(manager.waitingCount)
      _ = (manager.isPaused, manager.isClosed, manager.progress, manager.failure)
      let handle = manager.add { then in then() }
      _ = (handle.state, handle.name)
      handle.cancel()
    }

    /// Uses the manager when the step or error that captured it is released.
    var sentinel: Sentinel { Sentinel { self.use() } }
  }

  private let manager = PromiseManager(onFailure: .stop, diagnostics: .silent)
  private let reentry: Reentry

  init() { reentry = Reentry(manager) }

  // Hangs if a handler or a cancel handler is called inside a transition.
  @Test("a handler and a cancel handler may call every method of their manager")
  func handler() {
    manager.add { [manager, reentry] then in
      reentry.use()
      manager.pause()
      manager.resume()
      manager.cancelAll()
      then.onCancel { reentry.use() }
      then.progress(0.5)
      then()
      reentry.use()
    }
    #expect(reentry.log.count == 3)
    #expect(manager.waitingCount == 0)
    let taken = manager.hold()
    _ = taken.with { then in then.onCancel { [reentry] in reentry.use() } }
    manager.cancelAll()
    #expect(reentry.log.count == 4)
    taken.call()
  }

  // Hangs if a handler is released inside the transition that takes or cancels it.
  @Test("a step's captures may use the manager when they are released")
  func captured() {
    func add() -> StepHandle {
      let sentinel = reentry.sentinel
      return manager.add { then in
        sentinel.touch()
        then()
      }
    }
    _ = add()
    #expect(reentry.log.count == 1)
    let taken = manager.hold()
    add().cancel()
    #expect(reentry.log.count == 2)
    _ = add()
    _ = add()
    manager.cancelAll()
    #expect(reentry.log.count == 4)
    _ = add()
    taken.call()
    #expect(reentry.log.count == 5)
  }

  // Hangs if cancel handlers are released inside the transition that ends their step or requests
  // its cancellation, or are retained although the step has ended.
  @Test("a cancel handler's captures may use the manager when they are released")
  func capturedByCancelHandler() {
    func observe(_ taken: Taken) {
      _ = taken.with { then in
        let sentinel = reentry.sentinel
        then.onCancel { sentinel.touch() }
      }
    }
    for cancels in [false, true] {
      let taken = manager.hold()
      observe(taken)
      if cancels { manager.cancelAll() }
      taken.call()
    }
    #expect(reentry.log.count == 2)
    let taken = manager.hold()
    taken.call()
    observe(taken)
    #expect(reentry.log.count == 3)
  }

  // Hangs if an error is released with its segment inside a transition, or by a late `then`.
  @Test("an error may use the manager when it is released")
  func errors() {
    let manager = PromiseManager(diagnostics: .silent)
    let reentry = Reentry(manager)
    manager.add { then in
      then(reentry.sentinel.asError)
      then(reentry.sentinel.asError)
    }
    #expect(reentry.log.count == 2)
    let handle = manager.add { then in then(reentry.sentinel.asError) }
    manager.add { then in then(reentry.sentinel.asError) }
    #expect(reentry.log.count == 3, "no handle is retained")
    withExtendedLifetime(handle) {}
  }

  // Hangs if an event with an error is released inside a transition, by a full buffer or with its
  // listener.
  @Test("the error of an event may use the manager when it is released")
  func eventErrors() {
    let manager = PromiseManager()
    let reentry = Reentry(manager)
    do {
      let events = manager.events(bufferingNewest: 2)
      manager.add { then in then(reentry.sentinel.asError) }
      #expect(reentry.log.count == 0)
      manager.add { then in then() }
      #expect(reentry.log.count == 1)
      manager.add { then in then(reentry.sentinel.asError) }
      withExtendedLifetime(events) {}
    }
    #expect(reentry.log.count == 2)
  }

  // Hangs if the timeout replaces the error inside the transition that drops its last reference.
  @Test("an error reported after the time limit may use the manager when it is released")
  func replacedError() async {
    let (manager, reentry, clock, notified) = (manager, reentry, ManualClock(), Gate())
    let step = Step { then in
      then.onCancel { notified.open() }
      clock.slept.block()
      clock.advance(by: .seconds(5))
      notified.block()
      then(reentry.sentinel.asError)
    }
    await onNewThread { _ = manager.add(step.timeout(.seconds(5), clock: clock)) }
    // The thread of the timer may end the step after `add` has returned.
    while reentry.log.count == 0 { await Task.yield() }
    #expect(reentry.log.count == 1)
  }

  // Hangs if the failure that stopped the manager is released inside the transition of `resume`, or
  // of the failure that replaces it.
  @Test("the failure that stopped the manager may use the manager when it is released")
  func failure() {
    manager.add { [reentry] then in then(reentry.sentinel.asError) }
    // The segment also retains the step's error until it is released.
    for _ in 1...70 { manager.add { then in then() } }
    #expect(reentry.log.count == 0)
    manager.resume()
    #expect(reentry.log.count == 1)
    #expect(manager.failure == nil)
  }

  // Hangs if a diagnostic is reported inside a transition.
  @Test("a diagnostics handler may use the manager that reports")
  func diagnostics() {
    let place = Locked<Reentry?>(nil)
    let manager = PromiseManager(
      capacity: 1, diagnostics: DiagnosticHandler { _ in place.withLock { $0 }?.use() })
    let reentry = Reentry(manager)
    place.withLock { $0 = reentry }
    manager.add { then in
      then.progress(2)
      then()
      then()
    }
    #expect(reentry.log.count == 2)
    let taken = Taken()
    manager.add(taken.handler)
    manager.close()
    // Each refusal causes another report, until this condition stops them.
    place.withLock { $0 = nil }
    manager.add { then in then() }
    taken.call()
  }

  // Hangs if the tasks that await outcomes, or an idle manager, are resumed inside a transition.
  @Test("resumed waiters may use the manager")
  func waiters() {
    let (reentry, taken) = (reentry, Taken())
    manager.add(taken.handler).observe { _ in reentry.use() }
    let waiting = manager.add { then in then() }
    for _ in 1...2 { waiting.observe { _ in reentry.use() } }
    waiting.cancel()
    #expect(reentry.log.count == 2)
    taken.call()
    #expect(reentry.log.count == 3)
  }

  // Hangs if events are delivered inside a transition: the listener's stream calls back.
  @Test("a listener may end while events are delivered")
  func listeners() async {
    let (manager, count) = (manager, Log<Int>())
    let listener = Task {
      for await _ in manager.events() {
        count.append(manager.waitingCount)
        if count.count == 10 { break }
      }
    }
    while count.count < 10 {
      manager.add { then in then() }
      await Task.yield()
    }
    await listener.value
    manager.add { then in then() }
    #expect(manager.order.withLock { $0.line.feed == nil })
  }

  // Hangs if the old diagnostics handler is released while the new one is set.
  @Test("the shared diagnostics handler may use the shared setting when it is replaced")
  func sharedDiagnostics() {
    let log = Log<Int>()
    let before = DiagnosticHandler.shared
    do {
      let sentinel = Sentinel {
        _ = DiagnosticHandler.shared
        log.append(1)
      }
      DiagnosticHandler.shared = DiagnosticHandler { [before] diagnostic in
        sentinel.touch()
        before.report(diagnostic)
      }
    }
    DiagnosticHandler.shared = before
    #expect(log.count == 1)
  }
}
