import TestSupport
import SerialPromises

/// Creates a scenario from a seed and no other input.
struct ScenarioGenerator {
  /// The features that a scenario uses.
  ///
  /// Each scenario uses a subset, because features can hide each other's bugs: a grace period
  /// permits an overlap, for instance.
  private struct Features {
    let cancels, cancelsAll, graces, limits, promises, closures, combinators, chains: Bool
    let wants, drops, pauses, serially: Bool
    let places, sweeps, rates, capacities, shares, priorities: Bool

    init(_ random: inout SeededGenerator) {
      func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
      cancels = chance(70)
      cancelsAll = chance(30)
      graces = chance(15)
      limits = chance(25)
      promises = chance(85)
      closures = !promises || chance(70)
      combinators = chance(40)
      chains = chance(60)
      wants = chance(70)
      drops = chance(25)
      pauses = chance(50)
      serially = chance(25)
      places = chance(50)
      sweeps = chance(40)
      rates = chance(20)
      capacities = chance(20)
      shares = chance(20)
      priorities = chance(40)
    }
  }

  private var random: SeededGenerator
  private var scenario: Scenario
  private let features: Features

  static func scenario(seed: UInt64) -> Scenario {
    var generator = ScenarioGenerator(seed)
    generator.fill()
    return generator.scenario
  }

  private init(_ seed: UInt64) {
    random = SeededGenerator(seed: seed)
    features = Features(&random)
    scenario = Scenario(seed: seed, managers: [], steps: [], pieces: [], lanes: [])
  }

  private mutating func fill() {
    for _ in 0..<(features.shares || chance(20) ? 2 : 1) { scenario.managers.append(manager()) }
    for _ in 0..<number(1...4) { scenario.lanes.append(.init(isTask: chance(30), actions: [])) }
    // Choose lanes at random, so that each lane can use the steps of the others.
    for _ in 0..<number(6...90) { act(on: number(0...scenario.lanes.count - 1)) }
  }

  private mutating func manager() -> Scenario.ManagerPlan {
    let policies: [FailurePolicy] = [.continue, .continue, .stop, .cancelRest]
    let policy = pick(policies)
    var plan = Scenario.ManagerPlan(policy: policy, isOnQueue: chance(25))
    plan.isOfKey = chance(25)
    if features.capacities { plan.capacity = number(1...6) }
    if features.rates { plan.rate = (number(1...3), pick([50, 500])) }
    if features.limits, chance(30) { plan.limit = (pick([50, 200]), chance(25)) }
    return plan
  }

  // MARK: Chance

  private mutating func chance(_ percent: Int) -> Bool { number(0...99) < percent }

  private mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int.random(in: range, using: &random)
  }

  private mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[number(0...elements.count - 1)]
  }

  /// One of the steps so far, mostly a recent one: old ones have ended.
  private mutating func anyStep() -> Int {
    let count = scenario.steps.count
    return chance(70) ? number(max(0, count - 6)...count - 1) : number(0...count - 1)
  }

  // MARK: Actions

  private mutating func act(on lane: Int) {
    let manager = number(0...scenario.managers.count - 1)
    guard !scenario.steps.isEmpty, !chance(45) else { return add(on: lane, to: manager) }
    if features.sweeps, chance(6) { return sweep(on: lane, manager) }
    if features.shares, chance(20) { return share(on: lane, from: manager) }
    if features.places, chance(10) {
      return scenario.lanes[lane].actions.append(.move(anyStep(), place()))
    }
    if let action = action(manager) { scenario.lanes[lane].actions.append(action) }
  }

  private mutating func action(_ manager: Int) -> Action? {
    let step = anyStep()
    switch number(0...99) {
    case 0..<10: return features.cancels ? .cancel(step) : nil
    case 10..<20: return features.cancels ? .cancelPromise(step) : nil
    case 20..<24: return features.graces ? .cancelGrace(step) : nil
    case 24..<27: return features.cancelsAll ? .cancelAll(manager) : nil
    case 27: return features.graces && features.cancelsAll ? .cancelAllGrace(manager) : nil
    case 28..<32: return features.wants ? .start(step) : nil
    case 32..<36: return features.wants ? .startLink(step) : nil
    case 36..<43: return .listen(step)
    case 43..<50: return features.wants ? .await(step) : nil
    case 50..<53: return features.wants ? .awaitAll([step, anyStep(), anyStep()]) : nil
    case 53..<56: return features.cancels ? .cancelTasks(step) : nil
    case 56..<60: return features.wants ? .wait(step, isLimited: chance(30)) : nil
    case 60..<63: return .awaitOutcome(step)
    case 63: return chance(50) ? .awaitIdle(step) : .awaitAllIdle(step)
    case 64..<67: return features.drops ? .dropHandle(step) : nil
    case 67..<70: return features.drops ? .dropPromise(step) : nil
    case 70: return features.drops ? .dropManager(manager) : nil
    case 71..<76: return features.pauses ? .pause(manager) : nil
    case 76..<81: return features.pauses ? .resume(manager) : nil
    case 81: return features.drops && chance(30) ? .close(manager) : nil
    case 82..<91: return .release(step)
    case 91..<96: return features.priorities ? raise() : nil
    default: return .advance(pick([50, 100, 500]))
    }
  }

  private mutating func priority() -> UInt8 { pick([9, 17, 25, 33]) }

  /// Raises the tasks of a step, if it can be one that is code in a task.
  private mutating func raise() -> Action {
    let callers = scenario.steps.indices.filter { scenario.steps[$0].form.hasCaller }
    return .raise(callers.isEmpty ? anyStep() : pick(callers), to: priority())
  }

  private mutating func place() -> PlacePlan {
    if features.cancels, chance(30) { return .replacing(anyStep()) }
    return chance(50) ? .before(anyStep()) : chance(70) ? .first : .last
  }

  /// Cancels what waits, and adds more.
  private mutating func sweep(on lane: Int, _ manager: Int) {
    scenario.lanes[lane].actions.append(.cancelWaiting(manager))
    for _ in 0..<number(1...3) { add(on: lane, to: manager) }
  }

  /// Appends a step without its work: its pieces refer to it by its number.
  private mutating func newStep(on lane: Int, in manager: Int) -> Int {
    var step = StepPlan(manager: manager, lane: lane, form: .serially(members: []))
    if let limit = scenario.managers[manager].limit {
      step.hasTimeLimit = true
      step.mayEndEarly = limit.isAbandoning
    }
    if features.priorities { step.priority = priority() }
    scenario.steps.append(step)
    return scenario.steps.count - 1
  }

  /// Adds a promise to both managers, of which one is often paused, and the other one often ends a
  /// step at this moment.
  private mutating func share(on lane: Int, from manager: Int) {
    if chance(60) { scenario.lanes[lane].actions.append(.pause(manager)) }
    let first = newStep(on: lane, in: manager)
    scenario.steps[first].form = .promise(promise(first, PieceFacts(), depth: 2).plan, .added)
    scenario.lanes[lane].actions.append(.add(first, isWatched: chance(50)))
    let other = chance(50) ? lane : number(0...scenario.lanes.count - 1)
    if chance(70) {
      let busy = newStep(on: other, in: 1 - manager)
      let piece = piece(busy, "closure", PieceFacts())
      scenario.steps[busy].form = .closure(.init(piece: piece, ending: .elsewhere), Modifiers())
      scenario.lanes[other].actions.append(.add(busy, isWatched: false))
    }
    let second = newStep(on: other, in: 1 - manager)
    let plans = [scenario.steps[first], scenario.steps[second]]
    for step in [first, second] {
      scenario.steps[step].hasTimeLimit = plans.contains(where: \.hasTimeLimit)
      scenario.steps[step].isHot = plans[0].isHot
      scenario.steps[step].canFail = plans[0].canFail
    }
    scenario.steps[second].form = .shared(first)
    if chance(70) { scenario.steps[second].place = .first }
    scenario.lanes[other].actions.append(.add(second, isWatched: chance(50)))
  }

  private mutating func add(on lane: Int, to manager: Int) {
    // A full manager would refuse some members.
    if features.serially, !features.capacities, chance(15) {
      return addSerially(on: lane, to: manager)
    }
    let place = features.places && !scenario.steps.isEmpty && chance(30) ? place() : nil
    let step = newStep(on: lane, in: manager)
    scenario.steps[step].place = place
    if features.promises, !features.closures || chance(60) {
      scenario.steps[step].form = promiseStep(step)
    } else if chance(20) {
      let isTurn = chance(50)
      let plan = asynchronous(step, PieceFacts(path: isTurn ? " in a turn" : " in run"))
      scenario.steps[step].form = isTurn ? .turn(plan) : .run(plan)
      if features.limits, chance(40) { scenario.steps[step].patience = pick([0, 50, 200]) }
      if isTurn, features.limits, chance(20) { scenario.steps[step].isOnlyIfAvailable = true }
    } else {
      scenario.steps[step].form = closureStep(step)
    }
    if features.capacities, place == nil, chance(40) { scenario.steps[step].waitsForRoom = true }
    scenario.lanes[lane].actions.append(.add(step, isWatched: chance(50)))
    if features.drops, chance(20) { scenario.lanes[lane].actions.append(.dropHandle(step)) }
  }

  private mutating func addSerially(on lane: Int, to manager: Int) {
    let group = newStep(on: lane, in: manager)
    var members: [Int] = []
    for _ in 0..<number(1...4) {
      let member = newStep(on: lane, in: manager)
      scenario.steps[member].form = .member(promise(member, PieceFacts(), depth: 1).plan)
      members.append(member)
    }
    scenario.steps[group].form = .serially(members: members)
    scenario.lanes[lane].actions.append(.add(group, isWatched: chance(50)))
  }

  // MARK: Steps

  private mutating func closureStep(_ step: Int) -> Form {
    var modifiers = Modifiers()
    modifiers.isNamed = chance(30)
    if features.limits {
      if chance(40) {
        modifiers.timeout = (pick([50, 200, 500]), chance(40))
        scenario.steps[step].hasTimeLimit = true
        if modifiers.timeout?.isAbandoning == true { scenario.steps[step].mayEndEarly = true }
      }
    }
    var ending = pick(ClosureEnding.allCases)
    if chance(30) { ending = pick([.now, .elsewhere, .held]) }
    let failing: [ClosureEnding] = [.dropped, .droppedLater, .fails, .failsElsewhere]
    if failing.contains(ending) { scenario.steps[step].canFail = true }
    let piece = piece(step, "closure", PieceFacts())
    return .closure(ClosurePlan(piece: piece, ending: ending), modifiers)
  }

  private mutating func promiseStep(_ step: Int) -> Form {
    let handing: Handing =
      chance(8) ? .begun : features.limits && chance(25) ? .limited : .added
    if handing == .limited { scenario.steps[step].hasTimeLimit = true }
    if handing == .begun { scenario.steps[step].isHot = true }
    let facts = PieceFacts(isCounted: handing != .begun, mayBeIgnored: handing == .limited)
    return .promise(promise(step, facts, depth: 2).plan, handing)
  }

  /// The properties of a piece that follow from its position.
  private struct PieceFacts {
    /// The enclosing methods, for messages.
    var path = ""
    var limit = 1
    var isCounted = true
    var isMandatory = true
    var isCleanup = false
    /// Whether no handler may ever be attached: the failure of a hot promise is then correctly
    /// reported.
    var mayBeIgnored = false

    func within(_ name: String) -> PieceFacts {
      var facts = self
      facts.path += " in \(name)"
      return facts
    }
  }

  private mutating func piece(_ step: Int, _ kind: String, _ facts: PieceFacts) -> Int {
    scenario.pieces.append(
      PiecePlan(
        step: step, limit: facts.limit, isCounted: facts.isCounted,
        isMandatory: facts.isMandatory, isCleanup: facts.isCleanup, kind: kind + facts.path))
    return scenario.pieces.count - 1
  }

  // MARK: Promises

  private struct Made {
    let plan: PromisePlan
    /// Whether a part of it is hot.
    var hasHot = false
    /// Whether it may fail.
    var canFail = false
  }

  private mutating func promise(_ step: Int, _ facts: PieceFacts, depth: Int) -> Made {
    let made = chain(step, facts, depth: depth)
    if made.hasHot { scenario.steps[step].isHot = true }
    if made.canFail { scenario.steps[step].canFail = true }
    return made
  }

  private mutating func chain(_ step: Int, _ facts: PieceFacts, depth: Int) -> Made {
    var words: [Int] = []
    if features.chains, depth > 0, chance(60) {
      for _ in 0..<number(1...4) { words.append(number(0...99)) }
    }
    let retries = words.filter { 92... ~= $0 }.count
    let recovery = words.lastIndex { 60..<68 ~= $0 } ?? -1
    var rootFacts = facts
    rootFacts.limit *= 1 << retries
    // A chain that recovers may succeed without the pieces that the failure skipped.
    if recovery >= 0 { rootFacts.isMandatory = false }
    var made =
      features.combinators && depth > 0 && chance(30)
      ? combined(step, rootFacts, depth: depth - 1) : root(step, rootFacts)
    var left = retries
    for (index, word) in words.enumerated() {
      if word >= 92 { left -= 1 }
      var linkFacts = facts
      linkFacts.limit *= 1 << left
      // A chain on a hot promise runs when the promise is settled, independently of the manager.
      if made.hasHot { linkFacts.isCounted = false }
      if made.canFail || made.hasHot || index < recovery { linkFacts.isMandatory = false }
      if let link = link(word, step, linkFacts, made, depth: depth - 1) { made = link }
    }
    return made
  }

  private mutating func root(_ step: Int, _ facts: PieceFacts) -> Made {
    switch number(0...99) {
    case 0..<12 where !facts.mayBeIgnored:
      let hot = pick(HotPlan.allCases)
      return Made(plan: .hot(hot), hasHot: true, canFail: hot.fails)
    case 12..<45:
      let plan = asynchronous(step, facts)
      return Made(plan: .asynchronous(plan), canFail: plan.fails)
    default:
      let isCallback = chance(30)
      let settling = chance(40) ? pick([.now, .elsewhere, .held]) : pick(Settling.allCases)
      let task = TaskPlan(
        piece: piece(step, "task", facts), settling: settling,
        reply: isCallback ? .none : pick(Reply.allCases), isCallback: isCallback)
      return Made(plan: .task(task), canFail: settling.fails)
    }
  }

  private mutating func asynchronous(_ step: Int, _ facts: PieceFacts) -> AsyncPlan {
    let plan = AsyncPlan(
      piece: piece(step, "async", facts), yields: number(0...3), isHeld: chance(35),
      heedsCancel: chance(50), fails: chance(20))
    if plan.fails { scenario.steps[step].canFail = true }
    return plan
  }

  private mutating func combined(_ step: Int, _ facts: PieceFacts, depth: Int) -> Made {
    let combinator = pick(Combinator.allCases)
    if combinator == .any || combinator == .race, !facts.mayBeIgnored, chance(50) {
      // Decided when it is made, while another thread settles the others.
      let members = [PromisePlan.hot(.value)] + (0..<number(1...3)).map { _ in .hot(.elsewhere) }
      return Made(plan: .combined(combinator, members), hasHot: true, canFail: false)
    }
    var memberFacts = facts
    if combinator == .concurrently { memberFacts.mayBeIgnored = true }
    if combinator != .all && combinator != .concurrently { memberFacts.isMandatory = false }
    var members: [Made] = []
    for _ in 0..<number(1...3) {
      let member = chain(step, memberFacts.within("\(combinator)"), depth: depth)
      members.append(member)
    }
    return Made(
      plan: .combined(combinator, members.map(\.plan)), hasHot: members.contains(where: \.hasHot),
      canFail: combinator != .resolved && members.contains(where: \.canFail))
  }

  private mutating func link(
    _ word: Int, _ step: Int, _ facts: PieceFacts, _ source: Made, depth: Int
  ) -> Made? {
    func made(_ link: LinkPlan, canFail: Bool, hasHot: Bool = false) -> Made {
      Made(
        plan: .link(source.plan, link), hasHot: source.hasHot || hasHot, canFail: canFail)
    }
    switch word {
    case 0..<40:
      let fails = chance(15)
      let place = pick(LinkPlan.Place.allCases)
      let piece = piece(step, "map \(place)", facts)
      return made(.map(piece, place, fails: fails), canFail: fails || source.canFail)
    case 40..<60:
      let outer = piece(step, "then", facts)
      let inner = chain(step, facts.within("then"), depth: depth)
      return made(.flat(outer, inner.plan), canFail: source.canFail || inner.canFail)
    case 60..<68:
      var facts = facts
      facts.isMandatory = false
      return made(.recover(piece(step, "recover", facts)), canFail: false)
    case 68..<80:
      var facts = facts
      facts.isCleanup = true
      let piece = piece(step, "finally", facts)
      return made(.finally(piece, isAsynchronous: chance(40)), canFail: source.canFail)
    case 80..<86 where features.limits:
      scenario.steps[step].cancelsInside = true
      return made(.timeout(pick([50, 500])), canFail: true)
    case 86..<92 where features.limits:
      return made(.delay(pick([50, 500])), canFail: source.canFail)
    case 92... where !source.hasHot:
      return made(.retry(1), canFail: source.canFail)
    default:
      return nil
    }
  }
}
