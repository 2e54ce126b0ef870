import TestSupport
import Testing

@testable import SerialPromises

/// Whatever is somebody else's runs without the lock: here it uses the manager that called it.
///
/// Each test hangs if its piece of code runs under the lock, which is not recursive.
@Suite(.allShow(Managing.noLock)) struct NoLockTests {
  /// Something of a user's that uses the manager when it goes away.
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

    /// Captured by a step or an error, it uses the manager when that is released.
    var sentinel: Sentinel { Sentinel { self.use() } }
  }

  // Fails if a handler is called inside a transition.
  @Test("a handler may use its manager in every way")
  func handler() {
    let manager = PromiseManager()
    let reentry = Reentry(manager)
    manager.add { then in
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
  }

  // Fails if cancel handlers are called inside the transition that cancels.
  @Test("a cancel handler may use its manager")
  func onCancel() {
    let manager = PromiseManager()
    let (reentry, taken) = (Reentry(manager), Taken())
    let handle = manager.add(taken.handler)
    _ = taken.with { then in then.onCancel { reentry.use() } }
    handle.cancel()
    #expect(reentry.log.count == 1)
    taken.call()
  }

  // Fails if a handler is released inside the transition that takes it, or cancels it.
  @Test("what a step captured may use the manager when it goes away")
  func captured() {
    let manager = PromiseManager()
    let (reentry, taken) = (Reentry(manager), Taken())
    func add() -> StepHandle {
      let sentinel = reentry.sentinel
      return manager.add { then in
        sentinel.touch()
        then()
      }
    }
    _ = add()
    #expect(reentry.log.count == 1)
    manager.add(taken.handler)
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

  // Fails if cancel handlers are released inside the transition that ends their step, or asks it
  // to stop.
  @Test("what a cancel handler captured may use the manager when it goes away")
  func capturedByCancelHandler() {
    let manager = PromiseManager()
    let reentry = Reentry(manager)
    for cancels in [false, true] {
      let taken = Taken()
      let handle = manager.add(taken.handler)
      _ = taken.with { then in
        let sentinel = reentry.sentinel
        then.onCancel { sentinel.touch() }
      }
      if cancels { handle.cancel() }
      taken.call()
    }
    #expect(reentry.log.count == 2)
    // One for a step that is over: nobody keeps it.
    let taken = Taken()
    manager.add(taken.handler)
    taken.call()
    _ = taken.with { then in
      let sentinel = reentry.sentinel
      then.onCancel { sentinel.touch() }
    }
    #expect(reentry.log.count == 3)
  }

  // Fails if an error is released with its segment inside a transition, or by a late `then`.
  @Test("an error may use the manager when it goes away")
  func errors() {
    let manager = PromiseManager(diagnostics: .silent)
    let reentry = Reentry(manager)
    manager.add { [reentry] then in
      then(reentry.sentinel.asError)
      then(reentry.sentinel.asError)
    }
    #expect(reentry.log.count == 2)
    let handle = manager.add { [reentry] then in then(reentry.sentinel.asError) }
    manager.add { [reentry] then in then(reentry.sentinel.asError) }
    #expect(reentry.log.count == 3, "no handle is kept")
    withExtendedLifetime(handle) {}
  }

  // Fails if an event that makes room, or is left when its listener goes, is released inside a
  // transition: it has an error.
  @Test("an error in an event may use the manager when it goes away")
  func eventErrors() {
    let manager = PromiseManager()
    let reentry = Reentry(manager)
    do {
      let events = manager.events(bufferingNewest: 2)
      manager.add { [reentry] then in then(reentry.sentinel.asError) }
      #expect(reentry.log.count == 0)
      manager.add { then in then() }
      #expect(reentry.log.count == 1)
      manager.add { [reentry] then in then(reentry.sentinel.asError) }
      withExtendedLifetime(events) {}
    }
    #expect(reentry.log.count == 2)
  }

  // Fails if the error is replaced by the time-out's inside the transition, with nobody to keep it.
  @Test("an error that comes after the time is over may use the manager when it goes away")
  func replacedError() async {
    let (manager, clock, told) = (PromiseManager(), ManualClock(), Gate())
    let reentry = Reentry(manager)
    let step = Step { [reentry] then in
      then.onCancel { told.open() }
      clock.slept.block()
      clock.advance(by: .seconds(5))
      told.block()
      then(reentry.sentinel.asError)
    }
    await withCheckedContinuation { continuation in
      onOwnThread {
        manager.add(step.timeout(.seconds(5), waitsForThen: true, clock: clock))
        continuation.resume()
      }
    }
    #expect(reentry.log.count == 1)
  }

  // Fails if the failure that stopped the manager is released inside `resume`'s transition, or
  // inside the one that puts another in its place.
  @Test("the failure that stopped the manager may use it when it is forgotten")
  func failure() {
    let manager = PromiseManager(onFailure: .stop)
    let reentry = Reentry(manager)
    func fail() {
      manager.add { [reentry] then in then(reentry.sentinel.asError) }
    }
    fail()
    // Until its segment goes, the step keeps the error too.
    for _ in 1...70 { manager.add { then in then() } }
    #expect(reentry.log.count == 0)
    manager.resume()
    #expect(reentry.log.count == 1)
    #expect(manager.failure == nil)
  }

  // Fails if a diagnostic is reported inside a transition.
  @Test("a place for diagnostics may use the manager that reports")
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
    // Each refusal reports another, until this is cut short.
    place.withLock { $0 = nil }
    manager.add { then in then() }
    taken.call()
  }

  // Fails if observers are told, or idle waiters woken, inside a transition.
  @Test("those who wait may use the manager when they are told")
  func waiters() async {
    let manager = PromiseManager()
    let (reentry, taken) = (Reentry(manager), Taken())
    manager.add(taken.handler).observe { _ in reentry.use() }
    let waiting = manager.add { then in then() }
    waiting.observe { _ in reentry.use() }
    waiting.observe { _ in reentry.use() }
    waiting.cancel()
    #expect(reentry.log.count == 2)
    taken.call()
    #expect(reentry.log.count == 3)
  }

  // Fails if events are handed on inside a transition: the listener's stream calls back.
  @Test("a listener that goes away while events are handed on does no harm")
  func listeners() async {
    let manager = PromiseManager()
    let count = Log<Int>()
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
    #expect(manager.order.withLock { $0.feed?.isWatched } == false)
  }

  // Fails if the old place for diagnostics is released while the new one is being set.
  @Test("replacing the shared place for diagnostics may use it")
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
