import TestSupport
import Testing

@testable import SerialPromises

/// The state machine against a naive model, event by event, without threads.
struct SerialOrderTests {
  struct Setting: Sendable, CustomTestStringConvertible {
    let policy: FailurePolicy
    let capacity: Int?
    let isWatched: Bool

    /// The condition that is awaited.
    var waits: [Waiters.Condition] = []

    var rate: Rate?

    /// Whether steps are added whose work is canceled with them.
    var hasWork = false

    /// Whether steps are added that are code in a task.
    var hasTurns = false

    /// Whether steps are added whose handlers belong to an actor.
    var hasActors = false

    /// Whether the tasks that wait have priorities.
    var hasPriorities = false

    var testDescription: String {
      "\(policy), capacity \(capacity.map(String.init) ?? "none"), watched \(isWatched), \(rate.map { "\($0)" } ?? "no rate")"
    }

    /// Whether more states are visited.
    ///
    /// Not with priorities, which multiply them.
    var isFull: Bool { isLong && !hasPriorities }

    /// Whether no step has cancel handlers or progress, which multiply the number of states.
    ///
    /// Two settings have them: one with a capacity and listeners, one with a rate.
    var isPlain: Bool {
      !isFull && (hasPlaces || hasWork || hasTurns || hasActors || rate != nil && capacity != nil)
    }

    /// Whether every state is also left by moving steps, which multiplies the number of states.
    ///
    /// Storms move steps in every setting.
    var hasPlaces: Bool { isFull || policy == .stop && capacity == nil && rate == nil }

    /// All settings, or a selection with every value of each property.
    static let all: [Setting] =
      if isLong {
        [FailurePolicy.continue, .stop, .cancelRest].flatMap { policy in
          [nil, 1, 2].flatMap { capacity in
            [[], [.idle, .atRest], [.waitingBelow(1), .waitingBelow(2)]].map { waits in
              Setting(
                policy: policy, capacity: capacity, isWatched: !waits.isEmpty, waits: waits)
            }
          }
        } + few.filter { $0.rate != nil || $0.hasWork || $0.hasTurns || $0.hasActors }
      } else {
        // The test has no threads, so one setting suffices under a sanitizer.
        isSanitized ? [few[0]] : few
      }

    private static let few = [
      Setting(policy: .cancelRest, capacity: 1, isWatched: true, waits: [.waitingBelow(1)]),
      Setting(policy: .stop, capacity: nil, isWatched: false),
      Setting(
        policy: .stop, capacity: nil, isWatched: false, waits: [.atRest],
        rate: Rate(1, per: .seconds(2)), hasActors: true),
      Setting(policy: .continue, capacity: 2, isWatched: true, waits: [.idle], hasWork: true),
      Setting(
        policy: .continue, capacity: 1, isWatched: false, rate: Rate(2, per: .seconds(1)),
        hasTurns: true),
      Setting(policy: .cancelRest, capacity: nil, isWatched: false, waits: [.idle], hasTurns: true),
      Setting(
        policy: .continue, capacity: 1, isWatched: false, waits: [.idle], hasWork: true,
        hasTurns: true, hasPriorities: true),
    ]
  }

  // Fails if any transition of `SerialOrder` is changed: its result, its notifications, the phase,
  // a stage, a count, an event. Then it prints the shortest history that fails.
  @Test(
    "every event in every reachable state gives the result of the model", .shows(Managing.storms),
    arguments: Setting.all)
  func everyEventInEveryState(_ setting: Setting) async {
    let search = await onNewThread {
      var search = Search(setting)
      search.run()
      return search
    }
    search.report()
    #expect(search.pairs >= (isDeep ? 40_000 : 6_000))
    var expected: Set<PhaseName> = [
      .resting, .claimed, .onItsWay, .handling, .ended, .awaitingThen, .held,
    ]
    if setting.rate != nil { expected.insert(.throttled) }
    #expect(search.reached == expected)
  }

  // Fails if only a longer history has a wrong result: a count that drifts, or state left behind by
  // a much earlier step.
  @Test(
    "a long storm of adds, cancels, pauses, timeouts and all other events gives the results of the model",
    .shows(Managing.storms), arguments: Setting.all)
  func storms(_ setting: Setting) async {
    let search = await onNewThread {
      var search = Search(setting)
      var random = SeededGenerator(seed: 20_261_121)
      // Steps that leave are moved here only, not in every state.
      let walks = setting.hasWork ? 8 : 3
      for _ in 0..<(isLong ? 200 : max(walks / ease, 1)) { search.walk(events: 400, &random) }
      return search
    }
    search.report()
  }
}

/// Visits the reachable states of the model in breadth-first order.
private struct Search {
  private let setting: SerialOrderTests.Setting
  private let lock = Locked(SerialOrder())
  private var seen: Set<ReferenceModel.Key> = []
  private(set) var pairs = 0
  private(set) var reached: Set<PhaseName> = []
  /// The first wrong results.
  private var faults: [String] = []

  private typealias Place = (model: ReferenceModel, history: [OrderEvent])

  init(_ setting: SerialOrderTests.Setting) {
    self.setting = setting
  }

  mutating func run() {
    let start = ReferenceModel(
      policy: setting.policy, capacity: setting.capacity, isWatched: setting.isWatched,
      rate: setting.rate, distinguishesSweeps: setting.hasPlaces,
      hasPriorities: setting.hasPriorities)
    seen = [start.key]
    var frontier: [Place] = [(start, [])]
    while !frontier.isEmpty {
      var further: [Place] = []
      for place in frontier {
        reached.insert(place.model.phase)
        guard let next = tryEverything(from: place) else { return }
        further += next.filter { isWithinBounds($0.model) && seen.insert($0.model.key).inserted }
      }
      frontier = further
    }
  }

  /// Gives the test what was found: on the thread of the search there is no current test.
  func report() {
    tally(pairs)
    for fault in faults { Issue.record("\(fault)") }
  }

  /// Applies random events one after another.
  mutating func walk(events count: Int, _ random: inout some RandomNumberGenerator) {
    var model = ReferenceModel(
      policy: setting.policy, capacity: setting.capacity, isWatched: setting.isWatched,
      rate: setting.rate, distinguishesSweeps: setting.hasPlaces,
      hasPriorities: setting.hasPriorities)
    var order = replay([])
    defer { order.invalidate() }
    var history: [OrderEvent] = []
    for _ in 0..<count {
      // A closed order accepts no step.
      let possible =
        (model.events(setting) + model.placings)
        .filter { $0 != .close }
      guard let event = choose(from: possible, model, &random) else { return }
      let expected = model.apply(event)
      pairs += 1
      guard agrees(&order, expected, history, event) else { return }
      history.append(event)
    }
  }

  /// Prefers events that change the state without ending the running steps, so steps reach their
  /// end.
  private func choose(
    from possible: [OrderEvent], _ model: ReferenceModel, _ random: inout some RandomNumberGenerator
  ) -> OrderEvent? {
    var event = possible.randomElement(using: &random)
    for _ in 1...5 {
      guard let chosen = event else { return nil }
      var after = model
      _ = after.apply(chosen)
      if !chosen.isRare, !after.isUnchanged(since: model) { return chosen }
      event = possible.randomElement(using: &random)
    }
    return event
  }

  /// - Returns: The state after the events; nil if one of them has a wrong result.
  private mutating func tryEverything(from place: Place) -> [Place]? {
    var further: [Place] = []
    var order = replay(place.history)
    defer { order.invalidate() }
    let placings = setting.hasPlaces ? place.model.placings : []
    let events = place.model.events(setting, isPlain: setting.isPlain)
    for event in events + placings {
      var model = place.model
      let expected = model.apply(event)
      pairs += 1
      // Events that should have no effect are all applied to the same order: an effect shows in a
      // later event.
      if model.isUnchanged(since: place.model) {
        guard agrees(&order, expected, place.history, event) else { return nil }
      } else {
        var order = replay(place.history)
        defer { order.invalidate() }
        guard agrees(&order, expected, place.history, event) else { return nil }
        further.append((model, place.history + [event]))
      }
    }
    return further
  }

  private func replay(_ history: [OrderEvent]) -> OrderUnderTest {
    var order = OrderUnderTest(
      policy: setting.policy, capacity: setting.capacity, isWatched: setting.isWatched,
      rate: setting.rate, hasPriorities: setting.hasPriorities,
      lock: lock)
    for event in history { _ = order.apply(event) }
    return order
  }

  private mutating func agrees(
    _ order: inout OrderUnderTest, _ expected: Observation, _ history: [OrderEvent],
    _ event: OrderEvent
  ) -> Bool {
    let result = order.apply(event)
    let actual = order.observation(result)
    guard actual != expected else { return true }
    faults.append("after \(history), \(event):\n  got  \(actual)\n  want \(expected)")
    return false
  }

  private func isWithinBounds(_ model: ReferenceModel) -> Bool {
    let line = model.steps.count - model.visited
    // A wait that ends early delays the next start more and more.
    let isNear = model.rate == nil || model.due <= model.now + 2
    // Places and two kinds of steps multiply the number of states. A place after a sweep needs four
    // steps: those are in the long form, and in the random test of `PlaceTests`.
    let depth = setting.isFull ? 6 : (isDeep ? 2 : 1) + (setting.hasPlaces ? 1 : 0)
    let isSmall =
      model.waiting.count
      <= (setting.hasWork || setting.hasTurns || setting.hasActors || setting.hasPlaces ? 2 : 3)
      && model.leaving.count <= 1 && line <= depth
    // A closed order accepts no step; those that it has leave as those of an open one.
    return isNear && isSmall && (setting.isFull || !model.isClosed || model.waiting.isEmpty)
  }
}
