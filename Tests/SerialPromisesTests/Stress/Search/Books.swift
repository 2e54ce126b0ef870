/// A violated rule of the library.
struct Violation: Sendable {
  enum Kind: String, CaseIterable, Sendable {
    case overlap = "work of two steps of one manager at the same time"
    case order = "a step's work began before that of a step added earlier by the same thread"
    case again = "work ran again"
    case late = "work began, or continued, after its step had ended"
    case lost = "work of a step that succeeded, or that nothing could cancel, did not run"
    case uncaused = "a step was canceled without a cause"
    case mismatch = "the step and its promise ended differently"
    case notifiedAgain = "a listener was called again"
    case disagreement = "two listeners of one promise received different outcomes"
    case hang = "something did not end"
    case leak = "an object was leaked"
    case pending = "a step was canceled before its promise"
    case undecided = "an input that was settled did not decide a combination"
    case silence = "a step failed, nothing received the failure, and it was not reported"
    case policy = "a cancellation counted as a failure for the policy"
    case diagnostic = "an unexpected diagnostic"
    case busy = "the managers of all keys were reported idle, although one was at work all the time"
    case priority = "work had a lower priority than a task that waited for its end"
    case context = "work saw task-local values of another step's caller, or not those of its own"
  }

  let kind: Kind
  let text: String
}

/// How a step or a promise ended, as far as the oracle distinguishes endings.
enum Ending: String, Sendable, Equatable {
  case succeeded, cancelled, timedOut, failed
}

/// The oracle: records the events of a scenario, and reports the rules that they violate.
///
/// Pure: it takes no lock, makes no calls and has no clock. `World` keeps it behind a lock and
/// records the end of work before it calls `then`, settles the promise or drops the last way to
/// settle it. Therefore an overlap in the record is a real overlap.
struct Books {
  private struct Listener {
    let step: Int
    let name: String
    /// What its task waits for; nil if it is not a task.
    let wait: Wait?
    var priority: UInt8
    var count = 0
  }

  /// What a task waits for.
  enum Wait: Sendable {
    /// The end of its step, whose work it awaits or does itself.
    case end
    /// A place in the queue of its step's manager.
    case room
    /// The manager of its step is idle.
    case idle
    /// The managers of all keys are.
    case allIdle
    /// The outcome of its step's handle.
    case outcome
    /// The promises of these steps.
    case values([Int])
  }

  /// Work in a task that is held.
  private struct Held {
    let piece: Int
    /// The number of listeners when it began to be.
    let listeners: Int
    var priority: UInt8 = 0
  }

  /// What a manager reported of a step.
  struct Report: Sendable, Hashable {
    let manager: Int
    let id: Int
    let isTimeout: Bool
  }

  /// The latest events, for messages.
  enum Event: Sendable {
    case entered(Int), left(Int), notified(Int), acted(lane: Int, index: Int), cleared
  }

  let scenario: Scenario
  let facts: Facts

  private(set) var violations: [Violation] = []
  private(set) var events: [Event] = []

  /// The number of listeners that have not been called.
  private(set) var uncalled = 0

  /// The number of pieces of work that have begun and not ended, counted or not.
  private(set) var active = 0

  /// The counted pieces that have begun and not ended, for each manager.
  private var inside: [[Int]]

  /// The number of times that no work was known that keeps the manager of a key from being idle.
  private var pauses = 0
  private var runs: [Int]
  private var hasBegun: [Bool]
  private var lastRank: [[Int]]
  private var listeners: [Listener] = []
  private var held: [Int: Held] = [:]
  private var lastHeld = 0
  private var known: [Ending?]
  /// The steps whose work was about to fail when it had been canceled.
  private var failingAfterCancel: Set<Int> = []

  init(_ scenario: Scenario, _ facts: Facts) {
    self.scenario = scenario
    self.facts = facts
    inside = scenario.managers.map { _ in [] }
    runs = scenario.pieces.map { _ in 0 }
    hasBegun = scenario.steps.map { _ in false }
    known = scenario.steps.map { _ in nil }
    lastRank = scenario.lanes.map { _ in scenario.managers.map { _ in 0 } }
  }

  mutating func report(_ kind: Violation.Kind, _ text: String) {
    // One of each kind suffices: the first may cause any number of others.
    guard !violations.contains(where: { $0.kind == kind }) else { return }
    violations.append(Violation(kind: kind, text: text))
  }

  mutating func acts(lane: Int, index: Int) {
    events.append(.acted(lane: lane, index: index))
  }

  /// The world has dropped the scenario's objects.
  ///
  /// Work that no object waits for may still run.
  mutating func clears() { events.append(.cleared) }

  // MARK: Work

  /// A piece of work begins.
  ///
  /// - Parameters:
  ///   - piece: The number of the piece.
  ///   - isOver: Whether its step had already ended.
  ///   - isRefused: Whether its step was refused: the manager is then not responsible.
  ///   - caller: The step whose caller's task-local values the work sees.
  mutating func enter(_ piece: Int, isOver: Bool, isRefused: Bool, caller: Int?) {
    events.append(.entered(piece))
    let plan = scenario.pieces[piece]
    let step = plan.step
    active += 1
    runs[piece] += 1
    if runs[piece] > plan.limit {
      report(.again, "\(name(piece)) ran \(runs[piece]) times, \(plan.limit) at most")
    }
    guard facts.isCounted[piece], !isRefused else { return }
    if let caller, caller != step {
      report(.context, "\(name(piece)) saw the values of the caller of step \(caller)")
    }
    if caller == nil, scenario.steps[step].form.hasCaller {
      report(.context, "\(name(piece)) did not see the values of its caller")
    }
    let managers = facts.managers[step]
    if !facts.isExempt[step] {
      if isOver, !mayContinue(step) {
        report(.late, "\(name(piece)) began after its step had ended")
      }
      let others = managers.compactMap { manager in
        inside[manager].first { other in
          let otherStep = scenario.pieces[other].step
          return otherStep != step && !facts.isExempt[otherStep]
        }
      }
      // The work of a shared promise runs in the turn of one of the managers.
      if others.count == managers.count {
        report(.overlap, "\(name(piece)) began during \(name(others[0]))")
      }
      noteOrder(of: step, by: piece)
    }
    hasBegun[step] = true
    // It is not known which one.
    if managers.count == 1 { inside[managers[0]].append(piece) }
  }

  /// Whether the work of a step may run when the step is over: after a timeout, or in the turn of
  /// another manager.
  private func mayContinue(_ step: Int) -> Bool {
    facts.isExempt[step] || scenario.steps[step].hasTimeLimit || facts.managers[step].count > 1
  }

  private mutating func noteOrder(of step: Int, by piece: Int) {
    guard !hasBegun[step], let rank = facts.rank[step] else { return }
    let plan = scenario.steps[step]
    if rank < lastRank[plan.lane][plan.manager] {
      report(.order, "\(name(piece)) began after the work of a step that the same lane added later")
    }
    lastRank[plan.lane][plan.manager] = max(rank, lastRank[plan.lane][plan.manager])
  }

  /// A piece of work that has begun ends only after another `leave`.
  mutating func join(_ piece: Int) {
    active += 1
    let manager = scenario.steps[scenario.pieces[piece].step].manager
    if inside[manager].contains(piece) { inside[manager].append(piece) }
  }

  /// A piece of work ends; `isOver` if its step had ended before.
  mutating func leave(_ piece: Int, isOver: Bool, isRefused: Bool) {
    events.append(.left(piece))
    let step = scenario.pieces[piece].step
    let manager = scenario.steps[step].manager
    active -= 1
    // Also if the step turned out to be refused in the meantime.
    if let index = inside[manager].firstIndex(of: piece) { inside[manager].remove(at: index) }
    if pausesIfBusy == nil { pauses += 1 }
    if isOver, facts.isCounted[piece], !isRefused, !mayContinue(step) {
      report(.late, "\(name(piece)) ran after its step had ended")
    }
  }

  /// The work of a step, which has been canceled, fails now with an error of its own.
  mutating func failsAfterCancel(_ step: Int) { failingAfterCancel.insert(step) }

  // MARK: Idleness

  /// The number of pauses so far, if work has not ended that keeps the manager of a key from being
  /// idle.
  var pausesIfBusy: Int? {
    let isBusy = scenario.managers.indices.contains { manager in
      scenario.managers[manager].isOfKey
        && inside[manager].contains { !mayContinue(scenario.pieces[$0].step) }
    }
    return isBusy ? pauses : nil
  }

  /// The managers of all keys were reported idle, after a wait that began with `pausesIfBusy`.
  mutating func foundIdle(since pauses: Int?) {
    if let pauses, pauses == self.pauses { report(.busy, activePieces.joined(separator: ", ")) }
  }

  // MARK: Listeners

  /// A listener was attached to a step, to its promise, or to a promise derived from that.
  mutating func expect(_ step: Int, _ name: String, _ wait: Wait? = nil) -> Int {
    listeners.append(
      Listener(step: step, name: name, wait: wait, priority: scenario.steps[step].priority))
    uncalled += 1
    return listeners.count - 1
  }

  /// A listener was called; `ending` is how the step's own promise ended, if the listener knows it.
  mutating func notified(_ listener: Int, _ ending: Ending?) {
    events.append(.notified(listener))
    let step = listeners[listener].step
    listeners[listener].count += 1
    if listeners[listener].count == 1 {
      uncalled -= 1
    } else {
      report(.notifiedAgain, "\(listeners[listener].name) of step \(step)")
    }
    guard let ending else { return }
    if let known = known[step], known != ending {
      let name = listeners[listener].name
      report(.disagreement, "\(name) of step \(step): \(ending), another: \(known)")
    }
    known[step] = ending
  }

  /// The steps whose callers gave up waiting.
  private var givenUp: Set<Int> = []

  /// Records that the caller of a step gave up waiting for its turn.
  mutating func gaveUp(_ step: Int) { givenUp.insert(step) }

  /// The listeners that have not been called, for a message.
  var waiting: [String] {
    listeners.filter { $0.count == 0 }.map { "\($0.name) of step \($0.step)" }
  }

  // MARK: Priority

  /// The priority of a listener's task was raised.
  mutating func raised(_ listener: Int, to priority: UInt8) {
    listeners[listener].priority = max(listeners[listener].priority, priority)
  }

  /// Work in a task is held.
  ///
  /// - Returns: A number for `hasPriority` and `releases`.
  mutating func holds(_ piece: Int) -> Int {
    lastHeld += 1
    held[lastHeld] = Held(piece: piece, listeners: listeners.count)
    return lastHeld
  }

  /// Held work has at least this priority.
  mutating func hasPriority(_ number: Int, _ priority: UInt8) {
    guard let known = held[number]?.priority else { return }
    held[number]?.priority = max(known, priority)
  }

  mutating func releases(_ number: Int) { held[number] = nil }

  /// Whether held work can have too low a priority, and none was reported: each check may take
  /// long.
  var mayBeUnderrated: Bool {
    !held.isEmpty && !violations.contains { $0.kind == .priority }
  }

  /// Describes held work that has a lower priority than a task that waits for its end, if there is
  /// any.
  ///
  /// It may have, for a moment: a task is counted after it was created, and raises the work
  /// afterwards.
  ///
  /// - Parameter pending: The steps that were not refused, and whose promises are known and
  ///   pending.
  /// - Returns: The description; nil if there is no such work.
  func underrated(pending: Set<Int>) -> String? {
    for work in held.values where isInTurn(work.piece) {
      for (number, listener) in listeners.enumerated()
      where listener.count == 0 && listener.priority > work.priority
        && waits(number, for: work, pending)
      {
        return "\(name(work.piece)): \(work.priority), \(listener.name) of step \(listener.step): "
          + "\(listener.priority)"
      }
    }
    return nil
  }

  /// Whether the step of work that has begun is the running one, and waits for it.
  private func isInTurn(_ piece: Int) -> Bool {
    let step = scenario.pieces[piece].step
    return facts.awaitsWork[step] && inside[scenario.steps[step].manager].contains(piece)
  }

  /// Whether a task that waits does so for the end of work in its turn.
  private func waits(_ number: Int, for work: Held, _ pending: Set<Int>) -> Bool {
    let listener = listeners[number]
    let running = scenario.pieces[work.piece].step
    let manager = scenario.steps[running].manager
    let isBehind = scenario.steps[listener.step].manager == manager
    switch listener.wait {
    case nil: return false
    case .end: return isBehind && (listener.step == running || !hasBegun[listener.step])
    case .room, .idle, .outcome: return isBehind
    // Otherwise it may have found this manager idle, and wait for another one first.
    case .allIdle: return scenario.managers[manager].isOfKey && work.listeners <= number
    case .values(let steps):
      return steps.contains { step in
        let plan = scenario.steps[step]
        return plan.manager == manager && pending.contains(step) && !plan.isHot
          && facts.managers[step].count == 1 && !facts.isExempt[step]
      }
    }
  }

  // MARK: The end

  /// Checks a step when all work has ended.
  ///
  /// - Parameters:
  ///   - step: A step that the manager accepted.
  ///   - outcome: How it ended, if that is known.
  ///   - promise: How its promise ended, if that is known.
  mutating func audit(_ step: Int, _ outcome: Ending?, promise: Ending?) {
    let plan = scenario.steps[step]
    if let known = known[step], let promise, known != promise {
      report(.disagreement, "a listener of step \(step): \(known), its state: \(promise)")
    }
    // Each member is audited separately.
    if case .serially = plan.form { return }
    let isSwept = facts.mayBeSwept[step] && !hasBegun[step]
    if outcome == .cancelled, !facts.mayBeCancelled[step], !isSwept {
      report(.uncaused, end(of: step, outcome))
    }
    if givenUp.contains(step), hasBegun[step] {
      report(.late, "step \(step), whose caller gave up waiting for its turn")
    }
    if failingAfterCancel.contains(step), outcome ?? known[step] == .failed {
      report(.policy, "step \(step), which failed after it was canceled")
    }
    auditRuns(step, plan, outcome)
    guard let outcome, let promise = promise ?? known[step], !facts.isExempt[step] else { return }
    if promise == .cancelled, outcome != .cancelled, !plan.hasTimeLimit {
      report(.mismatch, "\(end(of: step, outcome)), its promise was canceled")
    }
    // Its work may have failed, or its own time limit passed, before the promise was canceled.
    let mayFail =
      promise == .failed && hasBegun[step] || promise == .timedOut && plan.form.hasTimeLimit
    if outcome == .cancelled, promise != .cancelled, !mayFail, mustCancel(step) {
      report(.mismatch, "\(end(of: step, outcome)), its promise \(promise)")
    }
  }

  /// Whether the promise of the step is canceled with it.
  ///
  /// The work of others may have begun, and some work cannot be canceled.
  private func mustCancel(_ step: Int) -> Bool {
    !scenario.steps[step].isHot && !facts.isExempt[step] && facts.managers[step].count == 1
  }

  /// The promise of a step that was canceled is pending.
  mutating func isPending(_ step: Int) {
    if mustCancel(step) { report(.pending, "step \(step)") }
  }

  /// Checks the reports of a step.
  ///
  /// - Parameters:
  ///   - step: A step that the manager accepted.
  ///   - reports: What its manager reported of it.
  ///   - isUnread: Whether the handle was dropped, and its outcome never read.
  mutating func audit(_ step: Int, _ reports: [Report], isUnread: Bool) {
    let plan = scenario.steps[step]
    let (timeouts, failures) = (reports.filter(\.isTimeout), reports.filter { !$0.isTimeout })
    if timeouts.count > (plan.hasTimeLimit ? 1 : 0) {
      report(.diagnostic, "\(timeouts.count) timeouts of step \(step)")
    }
    // A promise reports its failure itself, unless it was canceled because of a time limit.
    let canFail = plan.hasTimeLimit || plan.canFail && !plan.isPromise
    let isStopped = scenario.managers[plan.manager].policy == .stop
    if failures.count > (isUnread && canFail && !isStopped ? 1 : 0) {
      report(.diagnostic, "\(failures.count) unhandled failures of step \(step)")
    }
    guard case .closure(let closure, _) = plan.form, isUnread, canFail, !isStopped else { return }
    let isSure = !plan.hasTimeLimit && !facts.isCancelled(step) && !facts.isExempt[step]
    if failures.isEmpty, isSure, runs[closure.piece] > 0 { report(.silence, "step \(step)") }
  }

  private func end(of step: Int, _ outcome: Ending?) -> String {
    "step \(step) ended: \(outcome.map(\.rawValue) ?? "unknown")"
  }

  private mutating func auditRuns(_ step: Int, _ plan: StepPlan, _ outcome: Ending?) {
    let own = scenario.pieces.indices.filter { scenario.pieces[$0].step == step }
    let mandatory = own.filter { scenario.pieces[$0].isMandatory }
    if outcome == .succeeded {
      if let lost = mandatory.first(where: { runs[$0] == 0 }) {
        report(.lost, "\(name(lost)) did not run, and \(end(of: step, outcome))")
      }
    } else if !facts.isCancelled(step), !plan.hasTimeLimit, !plan.form.hasTimeLimit, !plan.isHot,
      let first = own.first, own.allSatisfy({ runs[$0] == 0 })
    {
      report(.lost, "\(name(first)) did not run, and \(end(of: step, outcome))")
    }
  }

  /// The pieces that have begun and not ended, for a message.
  var activePieces: [String] { inside.joined().map(name) }

  /// The name of a piece, for messages.
  func name(_ piece: Int) -> String {
    let plan = scenario.pieces[piece]
    return "\(plan.kind) (piece \(piece), step \(plan.step))"
  }
}

extension Form {
  fileprivate var hasTimeLimit: Bool {
    switch self {
    case .promise(let plan, _), .member(let plan): plan.hasTimeLimit
    case .closure, .run, .turn, .serially, .shared: false
    }
  }
}
