import SerialPromises

/// A program for one or two managers, as a value.
///
/// `ScenarioGenerator` creates it from a seed, `World` executes it.
///
/// All random choices are made here, so a seed replays the whole scenario. Only the interleaving of
/// the lanes differs from run to run.
struct Scenario: Sendable {
  /// The operations of one thread or task, in order.
  struct Lane: Sendable {
    let isTask: Bool
    var actions: [Action]
  }

  struct ManagerPlan: Sendable {
    let policy: FailurePolicy
    let isOnQueue: Bool
    /// Whether it is the manager of a key.
    var isOfKey = false
    var capacity: Int?
    var rate: (starts: Int, milliseconds: Int)?

    /// The time limit of each step.
    var limit: (milliseconds: Int, isAbandoning: Bool)?
  }

  let seed: UInt64
  var managers: [ManagerPlan]
  var steps: [StepPlan]
  var pieces: [PiecePlan]
  var lanes: [Lane]

  /// The number of operations.
  var size: Int { lanes.reduce(0) { $0 + $1.actions.count } }
}

/// A piece of work: a closure that reports its beginning and its end to the oracle.
struct PiecePlan: Sendable {
  let step: Int

  /// The maximum number of runs: more than 1 if the piece is retried.
  let limit: Int

  /// Whether it belongs to the step's turn.
  ///
  /// It does not if the promise was hot, or started before it was added.
  let isCounted: Bool

  /// Whether it runs if the step succeeds.
  let isMandatory: Bool

  /// Whether it is a cleanup handler: after a cancellation it runs as a listener, not as work.
  let isCleanup: Bool

  /// A description for messages.
  let kind: String
}

/// A step, with the facts that the oracle needs.
struct StepPlan: Sendable {
  let manager: Int
  let lane: Int
  var form: Form

  /// Whether its work may fail by itself.
  var canFail = false

  /// Whether a time limit of the step may fail it.
  var hasTimeLimit = false

  /// Whether a promise in it has a time limit, which may cancel its source.
  var cancelsInside = false

  /// Whether a time limit of the step may end it before its work.
  var mayEndEarly = false

  /// Whether a part of it may begin before its turn.
  var isHot = false

  /// Its place; nil if it is added without one.
  var place: PlacePlan?

  /// Whether a task adds it when there is room.
  var waitsForRoom = false

  /// How long the caller of a turn or `run` waits, in milliseconds; nil if it does not give up.
  var patience: Int?

  /// Whether the caller of a turn takes it only if it is available.
  var isOnlyIfAvailable = false

  /// The priority of each task that waits for it.
  var priority: UInt8 = 21
}

/// A place in the queue.
enum PlacePlan: Sendable {
  case first, last
  case before(Int)
  case replacing(Int)
}

extension StepPlan {
  /// Whether it is a promise.
  var isPromise: Bool {
    switch form {
    case .promise, .shared: true
    case .closure, .run, .turn, .serially, .member: false
    }
  }
}

/// How the work of a step is made.
enum Form: Sendable {
  case closure(ClosurePlan, Modifiers)
  /// `run`, awaited by its own task.
  case run(AsyncPlan)
  /// `withTurn`, in its own task.
  case turn(AsyncPlan)
  case promise(PromisePlan, Handing)
  /// The promise of a step of the other manager.
  case shared(Int)
  /// The members are steps of their own.
  case serially(members: [Int])
  /// A member of `serially`.
  case member(PromisePlan)
}

extension Form {
  /// Whether a task waits for the work, whose task-local values it has.
  var hasCaller: Bool {
    switch self {
    case .run, .turn: true
    case .closure, .promise, .shared, .serially, .member: false
    }
  }
}

/// How a promise is added to the manager.
enum Handing: String, Sendable {
  case added
  /// Started before it was added.
  case begun
  /// As a step with a time limit.
  case limited
}

/// How a closure ends its step.
enum ClosureEnding: String, CaseIterable, Sendable {
  case now, elsewhere, held, twice, dropped, droppedLater, fails, failsElsewhere
  /// Calls `then` late, or as soon as it is canceled.
  case heedsCancel
}

struct ClosurePlan: Sendable {
  let piece: Int
  let ending: ClosureEnding
}

/// The modifiers of a step, with times in milliseconds of the manual clock.
struct Modifiers: Sendable {
  var isNamed = false
  var timeout: (milliseconds: Int, isAbandoning: Bool)?
}

/// How an asynchronous body ends.
struct AsyncPlan: Sendable {
  let piece: Int
  let yields: Int
  /// Whether it suspends until it is released.
  let isHeld: Bool
  /// Whether it ends when it is canceled; otherwise it ignores the cancellation.
  let heedsCancel: Bool
  let fails: Bool
}

/// How the owner of a promise settles it.
enum Settling: String, CaseIterable, Sendable {
  case now, elsewhere, held, fails, failsElsewhere, throwing, dropped, droppedLater, twice

  var fails: Bool { ![.now, .elsewhere, .held, .twice].contains(self) }
}

/// The owner's reaction to the cancellation of its promise.
enum Reply: String, CaseIterable, Sendable {
  /// No handler is registered: the promise cannot be canceled while it runs.
  case none
  /// Settles the promise later, as without the cancellation.
  case ignores
  /// Settles the promise at once.
  case ends
}

struct TaskPlan: Sendable {
  let piece: Int
  let settling: Settling
  let reply: Reply
  /// Whether it is created with `resolve` and `reject` instead of a deferred.
  let isCallback: Bool
}

/// A promise that is hot when it is created.
enum HotPlan: String, CaseIterable, Sendable {
  case value, failure, elsewhere, held, heldFailure

  var fails: Bool { self == .failure || self == .heldFailure }
}

enum Combinator: String, CaseIterable, Sendable {
  case all, any, race, concurrently, resolved
}

/// How a promise is created.
indirect enum PromisePlan: Sendable {
  case task(TaskPlan)
  case asynchronous(AsyncPlan)
  case hot(HotPlan)
  case link(PromisePlan, LinkPlan)
  case combined(Combinator, [PromisePlan])
}

extension PromisePlan {
  /// Whether it, or a promise that it is made of, satisfies a predicate.
  func contains(where isMatch: (PromisePlan) -> Bool) -> Bool {
    if isMatch(self) { return true }
    switch self {
    case .task, .asynchronous, .hot: return false
    case .link(let source, .flat(_, let inner)):
      return source.contains(where: isMatch) || inner.contains(where: isMatch)
    case .link(let source, _): return source.contains(where: isMatch)
    case .combined(_, let members):
      return members.contains { $0.contains(where: isMatch) }
    }
  }

  /// Whether a time limit in it may end before any work begins.
  var hasTimeLimit: Bool {
    contains { if case .link(_, .timeout) = $0 { true } else { false } }
  }

  /// Whether something in it fails.
  var fails: Bool {
    contains {
      switch $0 {
      case .task(let task): task.settling.fails
      case .asynchronous(let plan): plan.fails
      case .hot(let hot): hot.fails
      case .link(_, .map(_, _, let fails)): fails
      case .link, .combined: false
      }
    }
  }

  /// Whether a combination in it may be settled while work of its promises runs.
  var losesWork: Bool {
    contains {
      switch $0 {
      case .combined(.any, _), .combined(.race, _): true
      case .combined(_, let members): members.contains(where: \.fails)
      case .task, .asynchronous, .hot, .link: false
      }
    }
  }
}

/// How a promise is derived from another.
enum LinkPlan: Sendable {
  enum Place: String, CaseIterable, Sendable { case here, queue, asynchronous }

  case map(Int, Place, fails: Bool)
  /// Continues with another promise, which is cold or hot.
  case flat(Int, PromisePlan)
  case recover(Int)
  case finally(Int, isAsynchronous: Bool)
  case timeout(Int)
  case delay(Int)
  case retry(Int)
}

/// An operation.
///
/// Has no effect if its step has not been added, or its target was dropped.
enum Action: Sendable {
  case add(Int, isWatched: Bool)
  case cancel(Int)
  case cancelPromise(Int)
  case cancelGrace(Int)
  case cancelAll(Int)
  case cancelAllGrace(Int)
  case cancelWaiting(Int)
  case move(Int, PlacePlan)
  case start(Int)
  case startLink(Int)
  case listen(Int)
  case await(Int)
  case awaitAll([Int])
  case cancelTasks(Int)
  /// Raises the priority of the tasks that add or await the step.
  case raise(Int, to: UInt8)
  case wait(Int, isLimited: Bool)
  case awaitOutcome(Int)
  /// Awaits that the manager of the step is idle.
  case awaitIdle(Int)
  /// Awaits that the managers of all keys are idle, for a listener of the step.
  case awaitAllIdle(Int)
  case dropHandle(Int)
  case dropPromise(Int)
  case dropManager(Int)
  case pause(Int)
  case resume(Int)
  case close(Int)
  case release(Int)
  case advance(Int)
}

// MARK: Facts

/// Facts that follow from a scenario before it is executed.
struct Facts: Sendable {
  /// Whether the step may end before its work, because the scenario requests that.
  private(set) var isExempt: [Bool]

  /// Whether an operation may cancel the step.
  private(set) var mayBeCancelled: [Bool]

  /// Whether an operation or a failure may cancel the step while it waits.
  private(set) var mayBeSwept: [Bool]

  /// The managers whose turn the work of the step may run in: two if they share its promise.
  private(set) var managers: [[Int]]

  /// Whether the piece must run within the turn of its step.
  private(set) var isCounted: [Bool]

  /// The position of a step among those that its lane adds.
  ///
  /// Nil if its own task adds it, if it has a place or is moved, and if two managers share its
  /// promise. The other steps keep their order.
  private(set) var rank: [Int?]

  /// The step of `serially` that this step is a member of.
  private(set) var groups: [Int: Int] = [:]

  /// Whether a closure calls `then` twice, or a task settles twice.
  private(set) var hasSecondCalls = false

  /// Whether a manager may be closed or full.
  private(set) var refuses: Bool

  /// Whether the handle of a promise's step is dropped: its failure may be unhandled.
  private(set) var dropsPromises = false

  /// Whether the end of the step waits for all its work, as long as that runs.
  ///
  /// It does not if its promise may be settled before.
  private(set) var awaitsWork: [Bool] = []

  /// Whether promises are pulled from a sequence, which may end before all of them have been
  /// pulled.
  private(set) var pulls = false

  init(_ scenario: Scenario) {
    let steps = scenario.steps
    isExempt = steps.map(\.mayEndEarly)
    mayBeCancelled = steps.map { _ in false }
    mayBeSwept = mayBeCancelled
    managers = steps.map { [$0.manager] }
    refuses = scenario.managers.contains { $0.capacity != nil }
    isCounted = scenario.pieces.map(\.isCounted)
    rank = steps.map { _ in nil }
    for (number, step) in steps.enumerated() {
      if case .serially(let members) = step.form {
        for member in members { groups[member] = number }
      }
      if Self.hasSecondCalls(step.form) { hasSecondCalls = true }
      if case .promise(let plan, _) = step.form, Self.pulls(plan) { pulls = true }
      if case .member(let plan) = step.form, Self.pulls(plan) { pulls = true }
    }
    for lane in scenario.lanes {
      var last = 0
      for action in lane.actions {
        note(action, steps)
        if case .add(let step, _) = action { noteRanks(step, steps, &last) }
        if case .move(_, .replacing(let step)) = action { mayBeSwept[step] = true }
      }
    }
    for case .move(let step, _) in scenario.lanes.flatMap(\.actions) { rank[step] = nil }
    for (number, step) in steps.enumerated() where step.patience != nil || step.isOnlyIfAvailable {
      mayBeCancelled[number] = true
    }
    for case .replacing(let step) in steps.compactMap(\.place) { mayBeSwept[step] = true }
    // Only its own code ends a turn.
    for (number, step) in steps.enumerated() {
      if case .turn = step.form { isExempt[number] = false }
    }
    notePolicies(scenario)
    for (number, step) in steps.enumerated() {
      if case .shared(let other) = step.form { noteShared([other, number], steps) }
    }
    for (member, group) in groups where mayBeCancelled[group] { mayBeCancelled[member] = true }
    awaitsWork = steps.indices.map { awaitsWork(of: $0, steps[$0]) }
    for (number, piece) in scenario.pieces.enumerated() where piece.isCleanup {
      let step = piece.step
      let plan = steps[step]
      if isCancelled(step) || isExempt[step] || plan.hasTimeLimit || plan.cancelsInside {
        isCounted[number] = false
      }
    }
  }

  /// Whether something may cancel the step.
  func isCancelled(_ step: Int) -> Bool { mayBeCancelled[step] || mayBeSwept[step] }

  private func awaitsWork(of step: Int, _ plan: StepPlan) -> Bool {
    guard !isExempt[step] else { return false }
    switch plan.form {
    case .run, .turn: return true
    case .closure, .shared, .serially: return false
    case .promise(let promise, _), .member(let promise):
      return !plan.isHot && !plan.hasTimeLimit && !plan.cancelsInside && !mayBeCancelled[step]
        && managers[step].count == 1 && !promise.losesWork
    }
  }

  /// Notes two steps of the same promise: what cancels one, cancels the other.
  private mutating func noteShared(_ pair: [Int], _ steps: [StepPlan]) {
    let mayBeCancelled = pair.contains { isCancelled($0) || steps[$0].hasTimeLimit }
    let isExempt = pair.contains { self.isExempt[$0] }
    for step in pair {
      managers[step] = pair.map { steps[$0].manager }
      self.mayBeCancelled[step] = mayBeCancelled
      self.isExempt[step] = isExempt
      rank[step] = nil
    }
  }

  private mutating func noteRanks(_ step: Int, _ steps: [StepPlan], _ last: inout Int) {
    guard steps[step].place == nil, !steps[step].waitsForRoom else { return }
    switch steps[step].form {
    case .run, .turn, .shared: break
    case .serially(let members):
      for member in members {
        last += 1
        rank[member] = last
      }
    case .closure, .promise, .member:
      last += 1
      rank[step] = last
    }
  }

  private mutating func note(_ action: Action, _ steps: [StepPlan]) {
    func own(_ manager: Int) -> [Int] { steps.indices.filter { steps[$0].manager == manager } }
    switch action {
    case .cancel(let step), .cancelPromise(let step), .cancelTasks(let step):
      mayBeCancelled[step] = true
    case .cancelGrace(let step):
      mayBeCancelled[step] = true
      isExempt[step] = true
    case .cancelAll(let manager), .dropManager(let manager):
      for step in own(manager) { mayBeCancelled[step] = true }
    case .cancelAllGrace(let manager):
      for step in own(manager) { (mayBeCancelled[step], isExempt[step]) = (true, true) }
    case .cancelWaiting(let manager):
      for step in own(manager) { mayBeSwept[step] = true }
    case .close: refuses = true
    case .dropHandle(let step): if steps[step].isPromise { dropsPromises = true }
    default: break
    }
  }

  private mutating func notePolicies(_ scenario: Scenario) {
    for (number, manager) in scenario.managers.enumerated() {
      guard case .cancelRest = manager.policy else { continue }
      let own = scenario.steps.indices.filter { scenario.steps[$0].manager == number }
      let failing = own.filter {
        scenario.steps[$0].canFail || scenario.steps[$0].hasTimeLimit
      }
      // A step that fails cancels the others, not itself.
      for step in own where failing.contains(where: { $0 != step }) { mayBeSwept[step] = true }
    }
  }

  private static func hasSecondCalls(_ form: Form) -> Bool {
    switch form {
    case .closure(let plan, _): plan.ending == .twice
    case .promise(let plan, _), .member(let plan): hasSecondCalls(plan)
    case .run, .turn, .serially, .shared: false
    }
  }

  private static func hasSecondCalls(_ plan: PromisePlan) -> Bool {
    plan.contains { if case .task(let task) = $0 { task.settling == .twice } else { false } }
  }

  private static func pulls(_ plan: PromisePlan) -> Bool {
    plan.contains { if case .combined(.concurrently, _) = $0 { true } else { false } }
  }
}
