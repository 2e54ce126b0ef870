import Dispatch
import TestSupport

@testable import SerialPromises

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Counts the objects of a scenario that have not been released.
final class Population: Sendable {
  private let live = Atomic(0)

  var count: Int { live.number }

  func enter() { live.add(1) }
  func leave() { live.add(-1) }
}

/// The value of each promise of a scenario, and a part of each error; counted, to find leaks.
final class Parcel: Sendable {
  private let population: Population

  init(_ population: Population) {
    self.population = population
    population.enter()
  }

  deinit { population.leave() }
}

/// The error of work that fails by itself.
struct Broken: Error {
  let parcel: Parcel
}

/// A task-local value of the task that awaits `run`, which the work of other steps must not see.
enum Caller {
  @TaskLocal static var step: Int?
}

private final class WeakManager: Sendable {
  weak let manager: PromiseManager?

  init(_ manager: PromiseManager) { self.manager = manager }
}

/// The environment of a scenario: its managers, their steps, and the oracle.
final class World: Sendable {
  /// The state of a step; the scenario may drop parts of it.
  struct Entry: Sendable {
    var isAdded = false
    var isRefused = false

    /// The number of the step in its manager, if the manager accepted it and returned a handle.
    var id: Int?

    /// Whether the handle was dropped, and whether its outcome was read.
    var (isDropped, isRead) = (false, false)

    /// Whether the step had ended when its handle was dropped with everything else.
    var wasOver = false
    var handle: StepHandle?
    var promise: Promise<Parcel>?
    var tasks: [(task: Task<Void, Never>, listener: Int)] = []

    /// The part that is kept when everything is dropped, to check the work that continues after
    /// that.
    ///
    /// The promise of a refused step is started, and no object waits for it. Between two of its
    /// pieces no work is active, and the scenario may end: the rest of that work still does not
    /// belong to the manager.
    var remains: Entry {
      var entry = self
      entry.wasOver = handle != nil
      (entry.handle, entry.promise, entry.tasks) = (nil, nil, [])
      return entry
    }
  }

  let scenario: Scenario
  let books: Locked<Books>
  let clock = ManualClock()
  let population = Population()
  let diagnostics: DiagnosticHandler

  /// The queue that calls callbacks.
  let elsewhere = DispatchQueue(label: "elsewhere", attributes: .concurrent)

  private let managers: Locked<[PromiseManager?]>
  let keys: Locked<KeyedPromiseManagers<Int>?>

  /// Managers that the scenario dropped, and that a task or a step may keep alive.
  private let dropped = Locked<[Int: WeakManager]>([:])
  private let entries: Locked<[Entry]>

  /// What the managers reported of single steps: checked in the end, when their numbers are known.
  private let reports: Locked<[Books.Report]>

  /// The actions that wait for `release`, by the number of their step.
  private let held = Locked<[Int: [@Sendable () -> Void]]>([:])

  init(_ scenario: Scenario) {
    self.scenario = scenario
    let facts = Facts(scenario)
    let books = Locked(Books(scenario, facts))
    self.books = books
    let reports = Locked<[Books.Report]>([])
    self.reports = reports
    let diagnostics = DiagnosticHandler { diagnostic in
      guard !facts.expects(diagnostic) else { return }
      books.withLock { $0.report(.diagnostic, "\(diagnostic)") }
    }
    self.diagnostics = diagnostics
    let clock = clock
    let make: @Sendable (Int) -> PromiseManager = { number in
      let plan = scenario.managers[number]
      return PromiseManager(
        on: plan.isOnQueue ? DispatchQueue(label: "search") : nil, onFailure: plan.policy,
        capacity: plan.capacity,
        rate: plan.rate.map { Rate($0.starts, per: .milliseconds($0.milliseconds)) },
        timeLimit: plan.limit.map { .milliseconds($0.milliseconds) },
        abandoning: plan.limit?.isAbandoning == true, clock: clock,
        diagnostics: DiagnosticHandler { diagnostic in
          guard let report = Books.Report(diagnostic, by: number) else {
            return diagnostics.report(diagnostic)
          }
          reports.withLock { $0.append(report) }
        })
    }
    let keys = KeyedPromiseManagers(make)
    self.keys = Locked(keys)
    managers = Locked(
      scenario.managers.enumerated().map { $1.isOfKey ? keys[$0] : make($0) })
    entries = Locked(scenario.steps.map { _ in Entry() })
  }

  // MARK: Entries and managers

  func entry(_ step: Int) -> Entry { entries.withLock { $0[step] } }

  func manager(_ number: Int) -> PromiseManager? { managers.withLock { $0[number] } }

  /// Changes an entry.
  ///
  /// The body returns the values that it removes, which are released after unlocking.
  func change<Result>(_ step: Int, _ body: (inout Entry) -> Result) -> Result {
    entries.withLock { body(&$0[step]) }
  }

  func dropManager(_ number: Int) {
    guard let last = managers.withLock({ $0[number].take() }) else { return }
    dropped.withLock { $0[number] = WeakManager(last) }
  }

  /// A manager that was dropped and still exists.
  ///
  /// A task that awaits `run` keeps its manager alive, which is never resumed if it is paused.
  func droppedManager(_ number: Int) -> PromiseManager? {
    dropped.withLock { $0[number] }?.manager
  }

  /// Drops all objects of the scenario.
  ///
  /// Call it only when all steps with live handles have ended.
  ///
  /// - Returns: The managers of the scenario.
  func clear() -> [Watched] {
    books.withLock { $0.clears() }
    let keys = self.keys.withLock { $0.take() }
    withExtendedLifetime(keys) {}
    let (managers, entries) = (
      self.managers.withLock { managers in
        defer { managers = [] }
        return managers
      },
      self.entries.withLock { entries in
        defer { entries = entries.map(\.remains) }
        return entries
      }
    )
    return withExtendedLifetime(entries) { managers.compactMap { $0.map { Watched($0) } } }
  }

  /// Checks the reports of the managers, when no step can cause another one.
  func auditReports() {
    let entries = entries.withLock { $0 }
    var reports = reports.withLock { $0 }
    books.withLock { books in
      for (step, entry) in entries.enumerated() where entry.id != nil {
        let manager = scenario.steps[step].manager
        let own = reports.filter { $0.manager == manager && $0.id == entry.id }
        reports.removeAll(where: own.contains)
        books.audit(step, own, isUnread: entry.isDropped && !entry.isRead)
      }
      // The others have no handle: their callers receive the failures.
      for report in reports {
        let steps = scenario.steps.filter { $0.manager == report.manager }
        if report.isTimeout, steps.contains(where: \.hasTimeLimit) { continue }
        books.report(.diagnostic, "\(report)")
      }
    }
  }

  // MARK: Held work

  /// Keeps an action until the step is released, or the scenario ends.
  func hold(_ step: Int, _ action: @escaping @Sendable () -> Void) {
    held.withLock { $0[step, default: []].append(action) }
  }

  func release(_ step: Int) {
    let actions = held.withLock { $0.removeValue(forKey: step) }
    for action in actions ?? [] { action() }
  }

  func releaseAll() {
    let all = held.withLock { held in
      defer { held = [:] }
      return held
    }
    for action in all.values.joined() { action() }
  }

  var isHolding: Bool { held.withLock { !$0.isEmpty } }

  /// Suspends the task of a piece of work until the gate is open, and records its priority.
  func suspend(_ piece: Int, at gate: Gate) async {
    #if !OLDEST_SYSTEMS
      if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
        let number = books.withLock { $0.holds(piece) }
        await withTaskPriorityEscalationHandler {
          let priority = Task.currentPriority.rawValue
          books.withLock { $0.hasPriority(number, priority) }
          await gate.passed()
        } onPriorityEscalated: { _, priority in
          books.withLock { $0.hasPriority(number, priority.rawValue) }
        }
        return books.withLock { $0.releases(number) }
      }
    #endif
    await gate.passed()
  }

  /// Describes held work whose priority is too low; nil if there is none.
  func underrated() -> String? {
    guard books.withLock({ $0.mayBeUnderrated }) else { return nil }
    let pending = scenario.steps.indices.filter { step in
      let entry = entry(step)
      guard !entry.isRefused, let promise = entry.promise else { return false }
      if case .pending = promise.state { return true }
      return false
    }
    return books.withLock { $0.underrated(pending: Set(pending)) }
  }

  // MARK: Values and errors

  func parcel() -> Parcel { Parcel(population) }
  func broken() -> any Error { Broken(parcel: parcel()) }
}

extension Ending {
  init(_ error: any Error) {
    switch error {
    case is CancellationError: self = .cancelled
    case PromiseError.timedOut: self = .timedOut
    // The step is canceled.
    case PromiseError.stillWaiting: self = .cancelled
    default: self = .failed
    }
  }

  init(_ outcome: StepOutcome) {
    switch outcome {
    case .succeeded: self = .succeeded
    case .cancelled: self = .cancelled
    case .failed(let error): self.init(error)
    }
  }

  /// Nil for a promise that is pending.
  init?<Value>(_ state: Promise<Value>.State) {
    switch state {
    case .pending: return nil
    case .fulfilled: self = .succeeded
    case .failed(let error): self.init(error)
    }
  }
}

extension Facts {
  /// Whether the scenario causes this diagnostic.
  fileprivate func expects(_ diagnostic: Diagnostic) -> Bool {
    switch diagnostic {
    case .thenCalledAgain, .settledAgain: hasSecondCalls
    case .thenCalledLate: isExempt.contains(true)
    case .refused: refuses
    // The promise was refused with its step, or left in a sequence.
    case .neverStarted: refuses || pulls
    case .unhandledFailure: dropsPromises
    default: false
    }
  }
}

extension Books.Report {
  fileprivate init?(_ diagnostic: Diagnostic, by manager: Int) {
    switch diagnostic {
    case .timedOut(let step): self.init(manager: manager, id: step.id, isTimeout: true)
    case .unhandledStepFailure(let step, _):
      self.init(manager: manager, id: step.id, isTimeout: false)
    default: return nil
    }
  }
}

/// A piece of work, which reports its beginning and its end to the oracle.
///
/// The closure that does the work captures it, which makes a leaked closure detectable.
final class WorkPiece: Sendable {
  let piece: Int
  let step: Int
  let world: World

  init(_ piece: Int, _ world: World) {
    self.piece = piece
    self.world = world
    step = world.scenario.pieces[piece].step
    world.population.enter()
  }

  deinit { world.population.leave() }

  /// The time from the beginning of some work to its end, in which no other step may run.
  final class Visit: Sendable {
    private let work: WorkPiece
    private let hasEnded = Locked(false)

    fileprivate init(_ work: WorkPiece) { self.work = work }

    /// Ends the visit.
    ///
    /// - Returns: Whether the visit had not ended before.
    @discardableResult
    func leave() -> Bool {
      // Recorded under the lock: of two threads that end the work, the second may end the step
      // next.
      hasEnded.withLock { hasEnded in
        guard !hasEnded else { return false }
        hasEnded = true
        let (isOver, isRefused) = work.standing
        work.world.books.withLock {
          $0.leave(work.piece, isOver: isOver, isRefused: isRefused)
        }
        return true
      }
    }
  }

  func enter() -> Visit {
    let (isOver, isRefused) = standing
    let caller = Caller.step
    world.books.withLock {
      $0.enter(piece, isOver: isOver, isRefused: isRefused, caller: caller)
    }
    return Visit(self)
  }

  /// A second visit of work that has begun, with its own end.
  func enterAgain() -> Visit {
    world.books.withLock { $0.join(piece) }
    return Visit(self)
  }

  /// Whether the step has ended, or was refused.
  ///
  /// Read before the oracle's lock is taken: neither changes back.
  private var standing: (isOver: Bool, isRefused: Bool) {
    let entry = world.entry(step)
    guard case .over = entry.handle?.state else { return (entry.wasOver, entry.isRefused) }
    return (true, entry.isRefused)
  }

  /// Lets other threads run, with varying frequency.
  func spin() {
    for _ in 0..<(piece & 3) { sched_yield() }
  }
}
