import Dispatch

@testable import SerialPromises

/// Executes a scenario once and checks the result.
///
/// Blocks; not for threads of the cooperative pool.
struct Performance {
  /// The result of an execution.
  struct Verdict: Sendable {
    let violations: [Violation]
    let events: [Books.Event]
  }

  private let world: World
  private let deadline: ContinuousClock.Instant
  private let patience: Duration

  /// - Parameters:
  ///   - scenario: The scenario to execute.
  ///   - patience: The time to wait for the end before a hang is reported.
  /// - Returns: The violations.
  static func verdict(on scenario: Scenario, patience: Duration) -> Verdict {
    let performance = Performance(scenario, patience)
    performance.act()
    let books = performance.world.books.withLock { $0 }
    return Verdict(violations: books.violations, events: books.events)
  }

  private init(_ scenario: Scenario, _ patience: Duration) {
    world = World(scenario)
    self.patience = patience
    deadline = ContinuousClock.now + patience
  }

  private func act() {
    guard playLanes() else { return hangs("a lane") }
    guard end() else { return hangs(unfinished()) }
    let endings = endings()
    let managers = world.clear()
    guard disappear(managers) else {
      let released = managers.allSatisfy(\.isGone)
      let text = "\(world.population.count) objects, managers gone: \(released)"
      return world.books.withLock { $0.report(.leak, text) }
    }
    // All work has ended now, including work that no object waits for.
    world.books.withLock { books in
      for (step, outcome, promise) in endings { books.audit(step, outcome, promise: promise) }
    }
    world.auditReports()
  }

  private func hangs(_ text: String) {
    world.books.withLock { $0.report(.hang, text) }
  }

  // MARK: Lanes

  /// - Returns: Whether all lanes reached their end.
  private func playLanes() -> Bool {
    let (start, finished) = (Gate(), DispatchSemaphore(value: 0))
    for (number, lane) in world.scenario.lanes.enumerated() {
      let play = { @Sendable [world] in
        for (index, action) in lane.actions.enumerated() {
          world.books.withLock { $0.acts(lane: number, index: index) }
          world.act(action)
        }
        finished.signal()
      }
      if lane.isTask {
        Task.detached {
          await start.passed()
          play()
        }
      } else {
        onOwnThread {
          start.block()
          play()
        }
      }
    }
    start.open()
    var left = world.scenario.lanes.count
    var rounds = 0
    while left > 0 {
      guard !isHang(after: rounds, deadline) else { return false }
      if finished.wait(timeout: .now() + .milliseconds(50)) == .success {
        left -= 1
      } else {
        rounds += passRound()
      }
    }
    return true
  }

  /// The number of rounds through the thread pools without an end that make a hang.
  ///
  /// Time alone is not sufficient: other tests of the same process may block the pools for minutes.
  private static let leastRounds = 2_000

  private func isHang(after rounds: Int, _ deadline: ContinuousClock.Instant) -> Bool {
    rounds >= Self.leastRounds && ContinuousClock.now >= deadline
  }

  // MARK: The end

  /// Resumes managers, advances the clock and releases held work until all work has ended.
  ///
  /// Repeats this, because the end of a step may begin another one that needs it as well. Resumes a
  /// manager when the one before is idle: a shared promise starts without it.
  ///
  /// - Returns: Whether all work has ended.
  private func end() -> Bool {
    var numbers = Array(world.scenario.managers.indices)
    if world.scenario.seed % 2 == 1 { numbers.reverse() }
    var (resumed, rounds) = (1, 0)
    checkPriorities()
    // Again, now that the tasks wait.
    for case .raise(let step, let priority) in world.scenario.lanes.flatMap(\.actions) {
      world.act(.raise(step, to: priority))
    }
    while !isOver {
      guard !isHang(after: rounds, deadline) else { return false }
      checkPriorities()
      let isIdle = world.manager(numbers[resumed - 1])?.isIdle ?? true
      if isIdle, resumed < numbers.count { resumed += 1 }
      for number in numbers.prefix(resumed) { world.resume(number) }
      world.clock.advance(by: .seconds(3600))
      world.releaseAll()
      rounds += passRound()
    }
    return true
  }

  /// Waits until held work has the priority of the tasks that wait for its end.
  ///
  /// Nothing else happens meanwhile.
  private func checkPriorities() {
    // A new deadline, because a slow scenario would look like a violation.
    let deadline = ContinuousClock.now + patience
    var rounds = 0
    while let text = world.underrated() {
      if isHang(after: rounds, deadline) {
        return world.books.withLock { $0.report(.priority, text) }
      }
      rounds += passRound()
    }
  }

  /// Waits for one empty job on each of the two thread pools.
  ///
  /// No single event marks the end: a thread of Dispatch may have finished its last job and still
  /// hold a reference.
  ///
  /// - Returns: 1, or the number that makes a hang if the pools are blocked for half an hour.
  private func passRound() -> Int {
    let passed = DispatchSemaphore(value: 0)
    DispatchQueue.global().async { passed.signal() }
    Task.detached { passed.signal() }
    for _ in 1...2 where passed.wait(timeout: .now() + 1800) == .timedOut {
      return Self.leastRounds
    }
    return 1
  }

  private var isOver: Bool {
    let isQuiet = world.books.withLock { $0.uncalled == 0 && $0.active == 0 }
    guard isQuiet, !world.isHolding else { return false }
    for step in world.scenario.steps.indices {
      let entry = world.entry(step)
      guard let handle = entry.handle else { continue }
      guard case .over = handle.state else { return false }
      world.checkCancellation(step, entry)
    }
    for number in world.scenario.managers.indices {
      guard let manager = world.manager(number) else { continue }
      do { try manager.waitUntilIdle(timeout: .zero) } catch { return false }
    }
    return true
  }

  private func unfinished() -> String {
    let (waiting, activePieces) = world.books.withLock { ($0.waiting, $0.activePieces) }
    var handles: [String] = []
    for step in world.scenario.steps.indices {
      guard let handle = world.entry(step).handle else { continue }
      if case .over = handle.state { continue }
      handles.append("step \(step) is \(text(handle.state))")
    }
    return """
      not called: \(waiting.joined(separator: ", ")); running: \(activePieces.joined(separator: ", ")); \
      not over: \(handles.joined(separator: ", "))
      """
  }

  /// The endings of the steps that a manager accepted.
  private func endings() -> [(step: Int, outcome: Ending?, promise: Ending?)] {
    world.scenario.steps.indices.compactMap { step in
      let entry = world.entry(step)
      guard entry.isAdded, !entry.isRefused else { return nil }
      var outcome: Ending?
      if case .over(let how) = entry.handle?.state { outcome = Ending(how) }
      return (step, outcome, entry.promise.flatMap { Ending($0.state) })
    }
  }

  /// - Returns: Whether all objects of the scenario have been released.
  private func disappear(_ managers: [Watched]) -> Bool {
    // A new deadline, because a slow end would look like a leak.
    let deadline = ContinuousClock.now + patience
    var rounds = 0
    while world.population.count > 0 || !managers.allSatisfy(\.isGone) {
      guard !isHang(after: rounds, deadline) else { return false }
      world.clock.advance(by: .seconds(3600))
      // Work that no object waits for may still begin, such as that of the loser of a race.
      world.releaseAll()
      rounds += passRound()
    }
    return true
  }
}
