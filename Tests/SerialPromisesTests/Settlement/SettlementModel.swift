@testable import SerialPromises

/// An event of a promise's settlement.
enum SettlementEvent: Hashable, Sendable {
  case attach(isImmediate: Bool, handlesFailures: Bool)
  case withdraw(Int)
  case settle(fulfills: Bool, adopted: Bool)
  case bind, beginCancel, endCancel, onCancel, next, demand
  case report(Double), rise(Double)
  case listen, watch
  /// Events of managers, identified by numbers: their turns, and the steps that the work belongs
  /// to.
  case reserve(Int), demandIn(Int), join(Int), beginCancelFor(Int), endProducing
  case attachStepEnd, beginStepHandler(Int), endStepHandler
}

/// A naive implementation of `Settlement`: without lists of nodes, shared state, or storage that is
/// allocated only on demand.
struct SettlementModel: Hashable {
  struct Waiting: Hashable {
    let id: Int
    let isImmediate: Bool
    var endsStep = false
  }

  struct Delivery: Hashable {
    let listener: Int
    let fraction: Double
  }

  var phase = Settlement.Phase.pending
  var isBound = false
  var hasUpstream: Bool
  var wasCancelled = false
  var isDemanded = false
  var isFailureHandled = false
  var isScheduled = false
  var isWatched = false
  var cancelHandlers = 0
  var progress = 0.0
  var waiting: [Waiting] = []
  var made = 0
  var listeners = 0
  var deliveries: [Delivery] = []
  /// The managers whose turn is awaited.
  var turns: [Int] = []
  /// The owners of the work until it ends.
  var scopes: [Int] = []
  /// Whether the settling call has still to be made.
  var hasProducer: Bool
  /// Whether the handler of a step runs that performs ends of steps when it returns.
  var isInStepHandler = false

  init(hasUpstream: Bool, hasProducer: Bool) {
    self.hasUpstream = hasUpstream
    self.hasProducer = hasProducer
  }

  private var isSettled: Bool { phase == .fulfilled || phase == .failed }

  /// The observable part of the state.
  var observation: String {
    """
    \(phase) bound \(isBound) upstream \(hasUpstream) cancelled \(wasCancelled) \
    demanded \(isDemanded) looked \(isFailureHandled) scheduled \(isScheduled) watched \(isWatched) \
    progress \(progress) turns \(turns) scopes \(scopes) maker \(hasProducer)
    """
  }

  /// - Returns: The result of the event.
  mutating func apply(_ event: SettlementEvent) -> String {
    switch event {
    case .attach(let isImmediate, let looks): attach(isImmediate, looks)
    case .withdraw(let id): withdraw(id)
    case .settle(let fulfills, let adopted): settle(fulfills, adopted)
    case .bind: bind()
    case .beginCancel: beginCancel()
    case .endCancel: publish(as: .failed, watchers: [])
    case .onCancel: onCancel()
    case .next: next()
    case .demand: demand()
    case .report(let fraction): report(fraction)
    case .rise(let fraction): rise(to: fraction)
    case .listen: listen()
    case .watch: watch()
    case .reserve(let manager): reserve(manager)
    case .demandIn(let manager): demand(in: manager)
    case .join(let manager): join(manager)
    case .beginCancelFor(let manager): beginCancel(for: manager)
    case .endProducing: endProducing()
    case .attachStepEnd: attach(false, true, endsStep: true)
    case .beginStepHandler(let manager): beginStepHandler(manager)
    case .endStepHandler: endStepHandler()
    }
  }

  private mutating func reserve(_ manager: Int) -> String {
    if !isDemanded, phase == .pending { turns.append(manager) }
    return ""
  }

  private mutating func join(_ manager: Int) -> String {
    if !isSettled || hasProducer { addScope(manager) }
    return ""
  }

  private mutating func addScope(_ manager: Int) {
    if !scopes.contains(manager) { scopes.append(manager) }
  }

  private mutating func beginStepHandler(_ manager: Int) -> String {
    isInStepHandler = true
    if turns.first != manager { _ = reserve(manager) }
    return join(manager)
  }

  private mutating func endStepHandler() -> String {
    defer { isInStepHandler = false }
    guard isSettled, leavesToStepHandler else { return "ends []" }
    defer { waiting = [] }
    return "ends \(waiting.map(\.id))"
  }

  private var leavesToStepHandler: Bool {
    isInStepHandler && !isScheduled && deliveries.isEmpty && waiting.allSatisfy(\.endsStep)
  }

  private mutating func endProducing() -> String {
    hasProducer = false
    defer { if isSettled { scopes = [] } }
    return "released \(isSettled ? scopes : [])"
  }

  private mutating func claim() -> Bool {
    defer { isScheduled = true }
    return !isScheduled
  }

  private mutating func attach(
    _ isImmediate: Bool, _ looks: Bool, endsStep: Bool = false
  ) -> String {
    let reaction = Waiting(id: made, isImmediate: isImmediate, endsStep: endsStep)
    made += 1
    isFailureHandled = isFailureHandled || looks
    if isSettled, isImmediate { return "due" }
    waiting.append(reaction)
    return isSettled && !leavesToStepHandler && claim() ? "schedules" : "listed"
  }

  private mutating func withdraw(_ id: Int) -> String {
    let wasThere = waiting.contains { $0.id == id }
    waiting.removeAll { $0.id == id }
    return "was present \(wasThere), unwanted \(wasThere && waiting.isEmpty && phase == .pending)"
  }

  private mutating func settle(_ fulfills: Bool, _ adopted: Bool) -> String {
    // In time or late, the maker of the promise makes the call.
    if hasProducer { _ = endProducing() }
    guard phase == .pending, adopted || !isBound else { return "too late" }
    var watchers: [Int] = []
    if fulfills, progress < 1 { watchers = move(to: 1) }
    return publish(as: fulfills ? .fulfilled : .failed, watchers: watchers)
  }

  private mutating func publish(as phase: Settlement.Phase, watchers: [Int]) -> String {
    self.phase = phase
    let due = waiting.filter(\.isImmediate).map(\.id)
    waiting.removeAll(where: \.isImmediate)
    hasUpstream = false
    cancelHandlers = 0
    turns = []
    if !hasProducer { scopes = [] }
    let schedules =
      (!waiting.isEmpty || !deliveries.isEmpty) && !leavesToStepHandler && claim()
    return "due \(due), watchers \(watchers), schedules \(schedules)"
  }

  private mutating func bind() -> String {
    guard phase == .pending, !isBound else { return "too late" }
    isBound = true
    hasProducer = false
    defer { hasUpstream = true }
    return "spent \(hasUpstream), watched \(isWatched)"
  }

  private mutating func beginCancel(for manager: Int? = nil) -> String {
    guard phase == .pending, hasUpstream || cancelHandlers > 0 else { return "cannot" }
    phase = .cancelling
    wasCancelled = true
    if let manager { addScope(manager) }
    return "handlers \(cancelHandlers), upstream \(hasUpstream), scopes \(scopes)"
  }

  private mutating func onCancel() -> String {
    if phase == .pending { cancelHandlers += 1 }
    return "now \(wasCancelled)"
  }

  private mutating func next() -> String {
    if !deliveries.isEmpty {
      let delivery = deliveries.removeFirst()
      return "listener \(delivery.listener) receives \(delivery.fraction)"
    }
    if isSettled, !waiting.isEmpty { return "reaction \(waiting.removeFirst().id)" }
    isScheduled = false
    return "nothing"
  }

  private mutating func demand(in manager: Int? = nil) -> String {
    guard !isDemanded, turns.isEmpty || turns.contains(where: { $0 == manager }) else {
      return "known"
    }
    isDemanded = true
    turns = []
    if let manager { _ = join(manager) }
    return "upstream \(hasUpstream)"
  }

  /// - Returns: The dependents to notify.
  private mutating func move(to fraction: Double) -> [Int] {
    progress = fraction
    for listener in 0..<listeners {
      deliveries.append(Delivery(listener: listener, fraction: fraction))
    }
    return isWatched ? waiting.map(\.id) : []
  }

  private mutating func report(_ fraction: Double) -> String {
    guard phase == .pending, !isBound, fraction >= progress, fraction <= 1 else {
      return "refused, watchers [], schedules false"
    }
    return fraction == progress ? "unchanged, watchers [], schedules false" : announce(fraction)
  }

  private mutating func rise(to fraction: Double) -> String {
    guard phase == .pending, fraction > progress else {
      return "unchanged, watchers [], schedules false"
    }
    return announce(fraction)
  }

  private mutating func announce(_ fraction: Double) -> String {
    let watchers = move(to: fraction)
    let schedules = (isWatched || listeners > 0) && !deliveries.isEmpty && claim()
    return "risen to \(fraction), watchers \(watchers), schedules \(schedules)"
  }

  private mutating func listen() -> String {
    let listener = listeners
    listeners += 1
    guard progress > 0 else { return "schedules false" }
    deliveries.append(Delivery(listener: listener, fraction: progress))
    return "schedules \(claim())"
  }

  private mutating func watch() -> String {
    guard !isWatched else { return "known" }
    isWatched = true
    return "upstream \(hasUpstream)"
  }
}
