import TestSupport
import Testing

@testable import SerialPromises

/// Whether the system raises the priority of a task that another one waits for by other means than
/// `await`.
private let raisesPriorities: Bool = {
  #if !OLDEST_SYSTEMS
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) { return true }
  #endif
  return false
}()

extension TaskPriority {
  /// Higher than that of the tests.
  fileprivate static let top = TaskPriority(rawValue: 33)
}

/// Suspends the calling task until it has at least this priority.
///
/// Polling would keep a processor busy until the task that is to raise it has its turn: as long as
/// all other tests take.
private func isRaised(to priority: TaskPriority) async {
  #if !OLDEST_SYSTEMS
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      let gate = Gate()
      await withTaskPriorityEscalationHandler {
        // Read when the handler is there, so that a raise between the two is not lost.
        if Task.currentPriority < priority { await gate.passed() }
      } onPriorityEscalated: { _, now in
        if now >= priority { gate.open() }
      }
    }
  #endif
}

extension PromiseManager {
  /// Waits until a task with this priority waits.
  fileprivate func isAwaited(at priority: TaskPriority) async {
    while order.withLock({ $0.line.waiters.priorities.highest }) < priority.rawValue {
      await Task.yield()
    }
  }
}

/// A task runs at least at the highest priority of the tasks that wait for its end.
@Suite(.enabled(if: raisesPriorities, "the system has no escalation of tasks"))
struct PriorityTests {
  private let log = Log<String>()

  /// Work in a task.
  enum Work: CaseIterable, Equatable {
    case code(Code)
    /// A turn that waits, one of a child task, and a promise in a turn of `serially`.
    case laterTurn, childsTurn, serially

    static let allCases = Code.allCases.map(Work.code) + [.laterTurn, .childsTurn, .serially]
  }

  /// A task that waits.
  enum Wait: CaseIterable {
    case turn, run, outcome, promiseStep, enqueued, combined, chained, idle, atRest, fewer, room,
      keys
  }

  private typealias Body = @Sendable () async -> Void

  /// Does work in its turn, and returns when it has ended.
  private static func perform(_ work: Work, on manager: PromiseManager, _ body: @escaping Body)
    async throws
  {
    switch work {
    case .code(.enqueue): manager.enqueue(body)
    case .code(.promise): manager.add(Promise<Void>(nil, body))
    case .code(let code): try await code.perform(on: manager, body)
    case .laterTurn:
      manager.holdUntilOneWaits()
      try await manager.withTurn(body)
    case .childsTurn:
      async let turn: Void = manager.withTurn(body)
      try await turn
    case .serially: _ = manager.serially([Promise<Void>(nil, body)])
    }
  }

  /// Waits behind the work.
  private static func wait(
    _ wait: Wait, for manager: PromiseManager, _ keys: KeyedPromiseManagers<Int>
  ) async throws {
    switch wait {
    case .turn: try await manager.withTurn {}
    case .run: try await manager.run {}
    case .outcome: try await manager.add { then in then() }.outcome.get()
    case .promiseStep:
      let promise = Promise {}
      manager.add(promise)
      try await promise.value
    case .enqueued: try await manager.enqueue {}.value
    case .combined: _ = try await when([manager.enqueue {}, .value(())]).value
    case .chained:
      try await manager.enqueue { 1 }.map { $0 + 1 }.then { Promise.value($0) }.map { _ in }.value
    case .idle: await manager.idle()
    case .atRest: await manager.atRest()
    case .fewer:
      manager.add { then in then() }
      await manager.fewerWaiting(than: 1)
    case .room:
      manager.add { then in then() }
      try await manager.addWhenRoom { then in then() }
    case .keys: await keys.idle()
    }
  }

  // Fails, and does not end, if the work of this kind is not raised by a task that waits in this
  // way; or, for a turn, if a raise of the waiting task itself is not passed on.
  @Test(
    "running work is raised by a task that waits at a higher priority, or is raised while it waits",
    arguments: Work.allCases, Wait.allCases)
  func raises(work: Work, wait: Wait) async throws {
    for isRaisedLater in work == .code(.turn) ? [false, true] : [false] {
      let keys = KeyedPromiseManagers<Int> { _ in
        PromiseManager(capacity: wait == .room ? 1 : nil)
      }
      let (manager, begun, waits, log) = (keys[1], Gate(), Gate(), log)
      let low = Task.detached(priority: .background) {
        try await Self.perform(work, on: manager) {
          log.append("\(Task.currentPriority < .top)")
          begun.open()
          await isRaised(to: .utility)
          waits.open()
          await isRaised(to: .top)
        }
      }
      await begun.passed()
      let waiter = Task.detached(priority: isRaisedLater ? .utility : .top) {
        try await Self.wait(wait, for: manager, keys)
      }
      await waits.passed()
      try await Task.detached(priority: .top) { try await waiter.value }.value
      try await low.value
      await manager.idle()
      #expect(log.removeAll() == ["true"])
    }
  }

  // Fails, and does not end, if a step does not take over what waits behind it.
  @Test(
    "work that begins is raised by a task that waits behind it already", arguments: Work.allCases)
  func begins(work: Work) async throws {
    let manager = PromiseManager()
    manager.pause()
    let low = Task.detached(priority: .background) {
      try await Self.perform(work == .laterTurn ? .code(.turn) : work, on: manager) {
        await isRaised(to: .top)
      }
    }
    await manager.waiting(1)
    let high = Task.detached(priority: .top) { try await manager.withTurn {} }
    await manager.waiting(2)
    manager.resume()
    try await high.value
    try await low.value
  }

  // Fails, and does not end, if only one manager is waited for at a time.
  @Test("the work of all keys is raised by a task that waits until all are idle")
  func keys() async throws {
    let (keys, begun, raised) = (KeyedPromiseManagers<Int>(), [Gate(), Gate()], [Gate(), Gate()])
    for key in 0...1 {
      Task.detached(priority: .background) {
        try await keys[key].withTurn {
          begun[key].open()
          await isRaised(to: .top)
          raised[key].open()
          await raised[1 - key].passed()
        }
      }
      await begun[key].passed()
    }
    await Task.detached(priority: .top) { await keys.idle() }.value
  }

  // Fails, and does not end, if the wait for a handle's outcome raises only what is in front of the
  // step.
  @Test(
    "the work of a promise is raised by a task that awaits its handle", arguments: [false, true])
  func handle(isRunning: Bool) async throws {
    let (manager, begun, isAdded) = (PromiseManager(), Gate(), Gate())
    let added = Log<StepHandle>()
    if !isRunning { manager.pause() }
    Task.detached(priority: .background) {
      let promise = Promise {
        begun.open()
        await isRaised(to: .top)
      }
      added.append(manager.add(promise))
      isAdded.open()
    }
    await isAdded.passed()
    if isRunning { await begun.passed() }
    let handle = added.all[0]
    let high = Task.detached(priority: .top) { try await handle.outcome.get() }
    if !isRunning {
      await manager.isAwaited(at: .top)
      manager.resume()
    }
    try await high.value
  }

  // Fails if the work has the priority that its caller had when it added the step.
  @Test("a caller of run that is raised before it waits raises the work")
  func raisedBeforeItWaits() async throws {
    let (manager, log, began) = (PromiseManager(), log, Gate())
    let low = Task.detached(priority: .background) {
      let call = AsyncCall(manager.order, name: nil, nil, nil) {
        log.append("\(Task.currentPriority == .top)")
        began.open()
        return .value(())
      }
      let hasTurn = try call.enter(manager)
      withUnsafeCurrentTask { $0?.raise(to: .top) }
      let outcome: Outcome = await withUnsafeContinuation { continuation in
        call.run(hasTurn: hasTurn, startsHere: false, continuation)
      }
      let _: Void = try outcome.get()
    }
    // Not awaited, which would raise it.
    await began.passed()
    try await low.value
    #expect(log.all == ["true"])
  }

  // Fails, and does not end, if a turn that waits for another manager does not pass its raise on.
  @Test("a raise passes through two managers, a promise and a child task")
  func twoManagers() async throws {
    let (outer, inner, begun) = (PromiseManager(), PromiseManager(), Gate())
    let lowest = Task.detached(priority: .background) {
      try await inner.withTurn {
        begun.open()
        await isRaised(to: .top)
      }
    }
    await begun.passed()
    let low = Task.detached(priority: .background) {
      try await outer.withTurn {
        async let child = Promise { try await inner.run {} }.map { $0 }.value
        try await child
      }
    }
    await inner.waiting(1)
    let high = Task.detached(priority: .top) { try await outer.withTurn {} }
    try await high.value
    try await low.value
    try await lowest.value
  }

  // Fails if a handler, or the work that it begins, is not raised.
  @Test("what begins after a promise was awaited has the priority of the task that awaits")
  func beginsLater() async throws {
    let (first, log) = (Deferred<Int>(), log)
    let note: @Sendable (String) -> Void = { log.append("\($0) \(Task.currentPriority == .top)") }
    let promise = first.promise
      .map { value in
        note("link")
        await Task.yield()
        return value
      }
      .then { value in
        Promise {
          note("returned"); await Task.yield(); return value
        }
      }
      .then { value in
        when(
          [1, 2].lazy.map { number in
            Promise {
              note("pulled"); await Task.yield(); return number + value
            }
          }, concurrently: 1)
      }
    let high = Task.detached(priority: .top) { try await promise.value }
    while promise.core.withLock({ $0.priority }) < TaskPriority.top.rawValue { await Task.yield() }
    Task.detached(priority: .background) { first.fulfill(1) }
    #expect(try await high.value == [2, 3])
    #expect(log.all == ["link true", "returned true", "pulled true", "pulled true"])
  }

  // Fails if the work is raised when it may have begun: in some of 100 rounds.
  @Test("each attempt of a promise that is awaited has the priority from the start")
  func attempts() async throws {
    for _ in 1...100 {
      let (count, log) = (Locked(0), Log<Bool>())
      let promise = Promise {
        if count.next() == 1 { throw Failed() }
        log.append(Task.currentPriority == .top)
      }
      .retry(1)
      try await Task.detached(priority: .top) { try await promise.value }.value
      #expect(log.all == [true])
    }
  }

  /// Notes whether work at `.background` was raised, in a turn behind which the change happens.
  private func wasRaised(
    _ change: (PromiseManager, _ top: @escaping Body) async throws -> Void
  ) async throws -> Bool {
    let (manager, raised, began) = (PromiseManager(), Log<Bool>(), Gate())
    manager.pause()
    let low = Task.detached(priority: .background) {
      try await manager.withTurn("low", at: .last) {
        raised.append(Task.currentPriority > .background)
        began.open()
      }
    }
    await manager.waiting(1)
    try await change(manager) {}
    manager.resume()
    // Not awaited, which would raise it.
    await began.passed()
    await manager.idle()
    try await low.value
    return raised.all[0]
  }

  // Fails if a count of a task that no longer waits is left behind.
  @Test("a task that was canceled, gave up or was in front raises none")
  func raisesNone() async throws {
    #expect(try await !wasRaised { _, _ in })
    #expect(
      try await !wasRaised { manager, body in
        for cancel in [true, false] {
          let high = Task.detached(priority: .top) {
            if cancel { await manager.idle() } else { try await manager.withTurn("x", body) }
          }
          if !cancel { await manager.waiting(2) }
          await manager.isAwaited(at: .top)
          high.cancel()
          _ = try? await high.value
        }
      })
    #expect(
      try await !wasRaised { manager, body in
        let high = Task.detached(priority: .top) {
          try await manager.withTurn("first", at: .first, waitingAtMost: .zero, body)
        }
        await #expect(throws: PromiseError.self) { try await high.value }
      })
    #expect(
      try await !wasRaised { manager, _ in
        Task.detached(priority: .top) { try await manager.withTurn("first", at: .first) {} }
        await manager.waiting(2)
      })
    #expect(
      try await !wasRaised { manager, _ in
        let promise = manager.enqueue {}
        let high = Task.detached(priority: .top) { try await promise.value }
        while promise.core.withLock({ $0.priority }) < 33 { await Task.yield() }
        high.cancel()
        _ = try? await high.value
      })
  }

  // Fails if a task ends while another thread raises it: a crash, or a report of the address
  // sanitizer.
  @Test("turns of child tasks that end while others raise them", .timeLimit(.minutes(5)))
  func ends() async throws {
    let manager = PromiseManager()
    for round in 1...(isLong ? 20_000 : 1000 / ease) {
      let low = Task.detached(priority: .background) {
        async let first: Void = manager.withTurn { if round % 2 == 0 { await Task.yield() } }
        async let second: Void = manager.withTurn("named") { await Task.yield() }
        async let third: Void = manager.run {}
        _ = try await (first, second, third)
      }
      let high = Task.detached(priority: .top) {
        async let turn: Void = manager.withTurn {}
        async let idle: Void = manager.idle()
        async let value: Void = manager.enqueue {}.value
        _ = try await (turn, idle, value)
      }
      try await low.value
      try await high.value
    }
    #expect(manager.order.withLock { $0.line.waiters.priorities.highest } == 0)
  }
}
