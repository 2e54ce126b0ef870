import Testing

@testable import SerialPromises

/// Applies the model's events to a real settlement, and returns the results in the model's terms.
///
/// Also records invariants that hold independently of the model.
struct SettlementUnderTest {
  /// A reaction with an identity and no effect.
  final class Probe: Reaction, @unchecked Sendable {
    // Sendable as its superclass is: it adds constants only.
    let id: Int
    private let immediate: Bool
    private let looks: Bool
    private let ends: Bool

    init(_ id: Int, isImmediate: Bool, handlesFailures: Bool, endsStep: Bool = false) {
      self.id = id
      immediate = isImmediate
      looks = handlesFailures
      ends = endsStep
    }

    override var isImmediate: Bool { immediate }
    override var handlesFailures: Bool { looks }
    override var role: Role { ends ? .stepEnd : .other }
    // Progress is passed on to those that have one.
    override var target: Core? { SettlementUnderTest.target }
  }

  private static let target = Core(origin: Origin("target", #fileID, #line))

  private let other = Core(origin: Origin("other", #fileID, #line))
  private static let managers = [Locked(SerialOrder()), Locked(SerialOrder())]

  private var settlement: Settlement
  private var probes: [Probe] = []
  private let received = Log<String>()
  private var listeners = 0

  // The recorded invariants.
  private var delivered: [Int] = []
  private var withdrawn: Set<Int> = []
  private var settledTimes = 0
  private var hasLateListener = false
  private(set) var faults: [String] = []

  /// Two managers, and the scopes of the work in each.
  private let managers: [Locked<SerialOrder>]
  private let scopes: [WorkScope]

  init(hasUpstream: Bool, hasProducer: Bool) {
    settlement = Settlement(isDemanded: false, hasProducer: hasProducer)
    managers = Self.managers
    scopes = Self.managers.map { WorkScope(Then(token: Token(lock: $0, id: 0))) }
    if hasUpstream { settlement.depend(on: makeUpstream()) }
  }

  private func makeUpstream() -> Upstream {
    .adopted(other, Adoption(target: other, share: ProgressShare()))
  }

  var observation: String {
    """
    \(settlement.phase) bound \(settlement.isBound) upstream \(settlement.upstream != nil) \
    cancelled \(settlement.wasCancelled) demanded \(settlement.isDemanded) \
    looked \(settlement.isFailureHandled) scheduled \(settlement.isScheduled) \
    watched \(settlement.isWatched) progress \(settlement.progress) \
    turns \(settlement.turns.map { turn in managers.firstIndex { $0 === turn } ?? -1 }) \
    scopes \(numbers(settlement.scopes)) maker \(settlement.hasProducer)
    """
  }

  private func numbers(_ held: [WorkScope]) -> [Int] {
    held.map { scope in scopes.firstIndex { $0 === scope } ?? -1 }
  }

  /// Releases everything, including reference cycles.
  mutating func invalidate() {
    _ = settlement.invalidate()
  }

  mutating func apply(_ event: SettlementEvent) -> String {
    switch event {
    case .attach(let isImmediate, let looks): return attach(isImmediate, looks)
    case .withdraw(let id):
      let (wasThere, isUnwanted) = settlement.withdraw(probes[id])
      if wasThere { withdrawn.insert(id) }
      return "was present \(wasThere), unwanted \(isUnwanted)"
    case .settle(let fulfills, let adopted):
      var effects = Settlement.Effects()
      let isFirst = settlement.settle(
        fulfills ? nil : Failed(), by: adopted ? .adopted : .owner, reached: fulfills ? 1 : 0,
        &effects)
      return isFirst ? published(effects) : "too late"
    case .bind:
      guard let bound = settlement.bind(to: makeUpstream()) else { return "too late" }
      return "spent \(bound.released != nil), watched \(bound.isWatched)"
    case .beginCancel:
      return beginCancel(for: [])
    case .endCancel: return published(settlement.endCancel())
    case .onCancel: return "now \(settlement.onCancel {})"
    case .next: return next()
    case .demand:
      guard let found = settlement.demand() else { return "known" }
      return "upstream \(found.upstream != nil)"
    case .report(let fraction):
      let (change, effects) = settlement.report(fraction)
      return text(change, effects)
    case .rise(let fraction):
      let before = settlement.progress
      let effects = settlement.rise(to: fraction)
      let now = settlement.progress
      return text(now > before ? .risen(to: now) : .unchanged, effects)
    case .listen: return listen()
    case .reserve(let manager):
      settlement.reserve(for: managers[manager])
      return ""
    case .demandIn(let manager):
      guard let found = settlement.demand(in: [scopes[manager]]) else { return "known" }
      return "upstream \(found.upstream != nil)"
    case .join(let manager):
      settlement.join([scopes[manager]])
      return ""
    case .beginCancelFor(let manager): return beginCancel(for: [scopes[manager]])
    case .endProducing: return "released \(numbers(settlement.endProducing()))"
    case .attachStepEnd: return attach(false, true, endsStep: true)
    case .beginStepHandler(let manager):
      settlement.beginStepHandler([scopes[manager]])
      return ""
    case .endStepHandler: return "ends \(handOut(settlement.endStepHandler()))"
    case .watch:
      guard let upstream = settlement.watch() else { return "known" }
      return "upstream \(upstream != nil)"
    }
  }

  private mutating func beginCancel(for scopes: [WorkScope]) -> String {
    guard let begun = settlement.beginCancel(for: scopes) else { return "cannot" }
    return """
      handlers \(begun.handlers.count), upstream \(begun.upstream != nil), \
      scopes \(numbers(begun.scopes))
      """
  }

  private mutating func attach(
    _ isImmediate: Bool, _ looks: Bool, endsStep: Bool = false
  ) -> String {
    let probe = Probe(
      probes.count, isImmediate: isImmediate, handlesFailures: looks, endsStep: endsStep)
    probes.append(probe)
    switch settlement.attach(probe) {
    case .listed, .rejoins: return "listed"
    case .schedules: return "schedules"
    case .due:
      handOut(probe)
      return "due"
    }
  }

  private mutating func published(_ effects: Settlement.Effects) -> String {
    settledTimes += 1
    if settledTimes > 1 { faults.append("settled twice") }
    return "due \(handOut(effects.due)), " + text(effects)
  }

  private mutating func handOut(_ reactions: TinyArray<Reaction>) -> [Int] {
    reactions.elements.map { reaction in
      handOut(reaction)
      return id(reaction)
    }
  }

  private mutating func next() -> String {
    guard let reaction = settlement.next() else { return "nothing" }
    guard reaction is ProgressDelivery else {
      handOut(reaction)
      return "reaction \(id(reaction))"
    }
    if hasDeliveredHandler, !hasLateListener { faults.append("progress after the outcome") }
    var agenda = Agenda()
    reaction.react(to: other, &agenda)
    return received.last ?? "nothing heard"
  }

  private var hasDeliveredHandler: Bool { delivered.contains { !probes[$0].isImmediate } }

  private mutating func listen() -> String {
    if hasDeliveredHandler { hasLateListener = true }
    let listener = listeners
    listeners += 1
    let schedules = settlement.listen { [received] in
      received.append("listener \(listener) receives \($0)")
    }
    return "schedules \(schedules)"
  }

  private mutating func handOut(_ reaction: Reaction) {
    let id = id(reaction)
    if !settlement.isSettled { faults.append("\(id) delivered before it is settled") }
    if delivered.contains(id) { faults.append("\(id) delivered twice") }
    if withdrawn.contains(id) { faults.append("\(id) delivered although withdrawn") }
    let isLate = delivered.contains { $0 > id && probes[$0].isImmediate == probes[id].isImmediate }
    if isLate { faults.append("\(id) delivered after a reaction that was attached later") }
    delivered.append(id)
  }

  private func id(_ reaction: Reaction) -> Int { (reaction as? Probe)?.id ?? -2 }

  private func text(_ effects: Settlement.Effects) -> String {
    "watchers \(effects.watchers.elements.map(id)), schedules \(effects.schedules)"
  }

  private func text(_ change: Progress.Change, _ effects: Settlement.Effects) -> String {
    let change =
      switch change {
      case .risen(let fraction): "risen to \(fraction)"
      case .unchanged: "unchanged"
      case .refused: "refused"
      }
    return "\(change), \(text(effects))"
  }
}
