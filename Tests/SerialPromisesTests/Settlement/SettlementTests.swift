import TestSupport
import Testing

@testable import SerialPromises

/// The settlement against a naive model, event by event, without threads.
struct SettlementTests {
  // Fails if each event visits all reactions.
  @Test(
    "a progress event visits only the reactions to progress, however many handlers await the outcome"
  )
  func watchers() {
    let deferred = Deferred<Int>()
    let promise = deferred.promise
    for _ in 0..<1000 { promise.fulfilled { _ in } }
    let link = promise.map { $0 }.progressed { _ in }
    for _ in 0..<1000 { promise.fulfilled { _ in } }
    #expect(promise.core.withLock { $0.rise(to: 0.25) }.watchers.elements.count == 1)
    let all = when([promise, promise])
    #expect(promise.core.withLock { $0.rise(to: 0.5) }.watchers.elements.count == 3)
    all.cancel()
    #expect(promise.core.withLock { $0.rise(to: 0.75) }.watchers.elements.count == 1)
    deferred.fulfill(1)
    withExtendedLifetime(link) {}
  }

  // Fails if a watcher is lost, retained, or loses its place when others are removed.
  @Test("watchers stay in the order of attachment when others are removed")
  func watcherList() {
    var generator = SeededGenerator(seed: 13)
    var (list, naive) = (WatcherList(), [Reaction]())
    for _ in 0..<500 {
      if naive.isEmpty || Int.random(in: 0..<5, using: &generator) < 3 {
        let reaction = Reaction()
        list.append(reaction)
        naive.append(reaction)
      } else {
        list.remove(naive.remove(at: .random(in: naive.indices, using: &generator)))
      }
      #expect(list.all.elements.map(ObjectIdentifier.init) == naive.map(ObjectIdentifier.init))
    }
    list.remove(Reaction())
    for reaction in naive { list.remove(reaction) }
    #expect(list.all.isEmpty)
  }

  // Fails if a cancellation does not take the source: then both threads take the handler.
  @Test("a cancellation and a turn do not both get the source of a link that waits")
  func parkedSource() {
    let (source, order) = (Core(origin: Origin("source", #fileID, #line)), Locked(SerialOrder()))
    let scope = WorkScope(Then(token: Token(lock: order, id: 0)))
    for isCanceledFirst in [true, false] {
      var link = Settlement(isDemanded: false)
      link.depend(on: .linked(source))
      link.reserve(for: order)
      let isParked = link.park(at: source)
      let first = isCanceledFirst ? link.beginCancel()?.parkedAt : nil
      let inTurn = link.demand(in: [scope])?.parkedAt
      let last = isCanceledFirst ? nil : link.beginCancel()?.parkedAt
      #expect(isParked && link.phase == .cancelling)
      #expect([first, inTurn, last].compactMap { $0 }.count == 1)
      #expect((isCanceledFirst ? first : inTurn) === source)
    }
  }

  // Fails if any transition of `Settlement` is changed: its result, its notifications, its phase;
  // or if a reaction is settled or delivered twice, early, late or out of order. Then it prints the
  // shortest history that fails. The test has no threads, so one setting suffices under a
  // sanitizer.
  @Test(
    "every event in every reachable state gives the result of the model",
    .shows(Promising.settledOnce),
    arguments: [true, false].eased())
  func everyEventInEveryState(hasUpstream: Bool) {
    search(Search(hasUpstream: hasUpstream, hasProducer: false, .reactions), atLeast: 20_000)
  }

  // Fails if a promise that waits for its turn is begun by another demand, or not in its turn; or
  // if the owners of its work are released before that work has ended, or never.
  @Test(
    "every event between a promise and managers gives the result of the model",
    .shows(Managing.turns, .workEnds), arguments: [true, false], [true, false])
  func everyEventOfManagers(hasUpstream: Bool, hasProducer: Bool) {
    search(Search(hasUpstream: hasUpstream, hasProducer: hasProducer, .managers), atLeast: 1_000)
  }

  // Fails if the end of a step is lost, or performed twice, or early; or if a user's handler waits
  // for the handler of a step, which may wait for it.
  @Test(
    "every event during the handler of a step gives the result of the model",
    .shows(Managing.workEnds), arguments: [true, false])
  func everyEventOfStepHandlers(hasUpstream: Bool) {
    search(Search(hasUpstream: hasUpstream, hasProducer: true, .stepHandlers), atLeast: 1_000)
  }

  private func search(_ search: Search, atLeast pairs: Int) {
    var search = search
    search.run()
    tally(search.pairs)
    #expect(search.pairs >= pairs)
    #expect(search.reached == [.pending, .cancelling, .fulfilled, .failed])
  }
}

extension TinyArray {
  var elements: [Element] {
    var all: [Element] = []
    forEach { all.append($0) }
    return all
  }
}

/// Visits the reachable states of the model in breadth-first order.
private struct Search {
  /// The events that are tried: with all at once, there would be too many states.
  enum Concern { case reactions, managers, stepHandlers }

  private typealias Place = (model: SettlementModel, history: [SettlementEvent])

  private let hasUpstream: Bool
  private let hasProducer: Bool
  private let concern: Concern
  private var seen: Set<SettlementModel> = []
  private(set) var pairs = 0
  private(set) var reached: Set<Settlement.Phase> = []

  private let reactions = isLong ? 3 : 2
  private let listeners = isLong ? 2 : 1

  init(hasUpstream: Bool, hasProducer: Bool, _ concern: Concern) {
    self.hasUpstream = hasUpstream
    self.hasProducer = hasProducer
    self.concern = concern
  }

  mutating func run() {
    let start = SettlementModel(hasUpstream: hasUpstream, hasProducer: hasProducer)
    seen = [start]
    var frontier: [Place] = [(start, [])]
    while !frontier.isEmpty {
      var further: [Place] = []
      for place in frontier {
        reached.insert(place.model.phase)
        var settlement = replay(place.history)
        defer { settlement.invalidate() }
        for event in events(in: place.model) {
          var model = place.model
          let answer = model.apply(event)
          pairs += 1
          // Events that should have no effect are all applied to the same settlement.
          if model == place.model {
            guard agrees(&settlement, model, answer, place.history, event) else { return }
          } else {
            var settlement = replay(place.history)
            defer { settlement.invalidate() }
            guard agrees(&settlement, model, answer, place.history, event) else { return }
            if seen.insert(model).inserted { further.append((model, place.history + [event])) }
          }
        }
      }
      frontier = further
    }
  }

  /// The possible events, with a bound on the number of each kind.
  private func events(in model: SettlementModel) -> [SettlementEvent] {
    var events: [SettlementEvent] = [.beginCancel]
    if model.cancelHandlers < 1 { events.append(.onCancel) }
    // Only the caller that began a cancellation ends it, and only a drain takes the next reaction.
    if model.phase == .cancelling { events.append(.endCancel) }
    if concern != .managers {
      events.append(.watch)
      if model.made < reactions {
        events += [
          .attach(isImmediate: true, handlesFailures: true),
          .attach(isImmediate: false, handlesFailures: true),
        ]
      }
      events += (0..<model.made).map { .withdraw($0) }
      if model.listeners < listeners { events.append(.listen) }
      if model.isScheduled { events.append(.next) }
    }
    return events + eventsOfConcern(in: model)
  }

  private func eventsOfConcern(in model: SettlementModel) -> [SettlementEvent] {
    switch concern {
    case .reactions:
      let attach = SettlementEvent.attach(isImmediate: false, handlesFailures: false)
      return (model.made < reactions ? [attach] : []) + [
        .bind, .demand, .report(0.25), .report(0.5), .report(1.5), .rise(0.5),
        .settle(fulfills: true, adopted: false), .settle(fulfills: true, adopted: true),
        .settle(fulfills: false, adopted: false), .settle(fulfills: false, adopted: true),
      ]
    case .managers:
      return (model.turns.count < 2 ? [.reserve(0), .reserve(1)] : [])
        + (model.scopes.count < 2 ? [.join(0), .join(1), .beginCancelFor(0)] : []) + [
          .bind, .demand, .demandIn(0), .demandIn(1), .endProducing,
          .settle(fulfills: true, adopted: false), .settle(fulfills: false, adopted: true),
        ]
    case .stepHandlers:
      return (model.made < reactions ? [.attachStepEnd] : []) + [
        .beginStepHandler(0), .endStepHandler, .report(0.5),
        .settle(fulfills: true, adopted: false), .settle(fulfills: false, adopted: false),
      ]
    }
  }

  private func replay(_ history: [SettlementEvent]) -> SettlementUnderTest {
    var settlement = SettlementUnderTest(hasUpstream: hasUpstream, hasProducer: hasProducer)
    for event in history { _ = settlement.apply(event) }
    return settlement
  }

  private func agrees(
    _ settlement: inout SettlementUnderTest, _ model: SettlementModel, _ answer: String,
    _ history: [SettlementEvent], _ event: SettlementEvent
  ) -> Bool {
    let actual = settlement.apply(event)
    if actual == answer, settlement.observation == model.observation, settlement.faults.isEmpty {
      return true
    }
    Issue.record(
      """
      after \(history), \(event):
      expected \(answer); \(model.observation)
      but was  \(actual); \(settlement.observation); faults \(settlement.faults)
      """)
    return false
  }
}
