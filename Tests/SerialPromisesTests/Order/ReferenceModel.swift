@testable import SerialPromises

/// An event of a serial order.
///
/// Steps are identified by their number.
enum OrderEvent: Hashable {
  enum Ending { case success, failure, cancellation }

  enum Place: Hashable { case first, last, before(Int) }

  case add, addWhenRoom
  case addAt(Place), move(Int, Place)
  case next(allowance: Int)
  case then(Int, Ending), workCancelled(Int)
  case addResumption(Int)
  case returned(SerialOrder.Continuation, allowance: Int)
  case abandon(Int), cancel(Int), endCancelled(Int), timeOut(Int, waitsForThen: Bool)
  case cancelHandlersReturned(Int, waitsForThen: Bool)
  case cancelAll, cancelWaiting, pause, resume, close
  case onCancel(Int)
  case progress(Int, Double)
  case wait(Waiters.Condition)
  /// The holder of the claim checks again this many seconds later, and has read the time.
  case nextAt(after: Int)
  /// A wait for the rate has ended: the latest one, or the one before it.
  case waited(isLast: Bool)
}

/// The observable effects of an event on a serial order.
struct Observation: Equatable {
  var result = ""
  /// The callbacks, sorted, because the state machine guarantees no order among them.
  var notified: [String] = []
  /// The events sent to listeners, in order.
  var published: [String] = []
  var phase = SerialOrder.Phase.resting
  var stages: [Slot.Stage] = []
  var waiting = 0
  var parked = 0
  var isIdle = true
  var isPaused = false
  var isClosed = false
  var hasFailure = false
  var progress = 1.0
}

/// A naive implementation of the rules of a serial order, with arrays.
struct ReferenceModel {
  struct Step: Equatable {
    var stage = Slot.Stage.waiting
    var isParked = false
  }

  let policy: FailurePolicy
  let capacity: Int?
  /// Whether all steps are observed, and a listener receives events.
  let isWatched: Bool
  let rate: Rate?

  var steps: [Step] = []
  /// All steps, in the order in which they are to run.
  var line: [Int] = []
  var phase = SerialOrder.Phase.resting
  var running: Int?
  var isPaused = false
  var isClosed = false
  var hasFailure = false
  var ending: OrderEvent.Ending?
  var isAskedToStop = false
  /// A grace period elapsed while the step's handler ran.
  var isGraceOver = false
  /// The step's time limit elapsed, and its `then` is awaited.
  var isTimedOut = false
  /// The step's cancel handlers are being called, because its time limit elapsed.
  var runsCancelHandlers = false
  var cancelHandlers = 0
  /// The number of further handlers of the running step.
  var resumptions = 0
  var progress = 0.0
  /// The time, and the start time of each step, in seconds.
  var now = 0
  var starts: [Int] = []
  /// A wait for the rate has ended, and no step has begun since.
  var hasWaited = false
  /// The number of waiters for each condition.
  var waiters: [Waiters.Condition: Int] = [:]
  /// The number of steps when the queue was last idle.
  var idleMark = 0
  /// `next` has visited the steps up to this one.
  var visited = 0

  var notified: [String] = []
  var published: [String] = []

  init(policy: FailurePolicy, capacity: Int?, isWatched: Bool, rate: Rate?) {
    self.policy = policy
    self.capacity = capacity
    self.isWatched = isWatched
    self.rate = rate
  }

  /// The waiting steps, in the order in which they are to run.
  var waiting: [Int] { line.filter { stage($0) == .waiting } }
  var parked: [Int] { ids { $0.stage == .waiting && $0.isParked } }
  var isIdle: Bool { running == nil && waiting.isEmpty }

  /// The time when the next step may begin.
  var due: Int {
    guard let rate, starts.count >= rate.starts else { return 0 }
    return starts[starts.count - rate.starts] + Int(rate.interval.components.seconds)
  }

  func holds(_ condition: Waiters.Condition) -> Bool {
    switch condition {
    case .idle: isIdle
    case .atRest: running == nil && (phase != .claimed || isPaused || waiting.isEmpty)
    case .waitingBelow(let limit): waiting.count < limit
    }
  }

  func ids(where isIncluded: (Step) -> Bool) -> [Int] {
    steps.indices.filter { isIncluded(steps[$0]) }.map { $0 + 1 }
  }

  func stage(_ id: Int) -> Slot.Stage { steps[id - 1].stage }

  var observation: Observation {
    let added = Double(steps.count - idleMark)
    let over = added - Double(waiting.count) - (running == nil ? 0 : 1 - progress)
    return Observation(
      notified: notified.sorted(), published: published, phase: phase, stages: steps.map(\.stage),
      waiting: waiting.count, parked: parked.count, isIdle: isIdle, isPaused: isPaused,
      isClosed: isClosed, hasFailure: hasFailure, progress: added > 0 ? over / added : 1)
  }

  /// The part of the state that determines future behavior.
  struct Key: Hashable {
    var steps: [UInt8]
    /// The order of the waiting steps, relative to the first step that has not ended.
    var line: [Int]
    var phase: SerialOrder.Phase
    var flags: [Bool]
    var resumptions: Int
    var waiters: Set<Waiters.Condition>
    var ending: OrderEvent.Ending?
    var progress: Double
    /// The time since the latest starts, as far as the rate needs it.
    var ages: [Int]
  }

  var key: Key {
    let states = steps[visited...].map { step -> UInt8 in
      // Both have run, and no longer affect the state.
      let stage = step.stage == .failed ? .succeeded : step.stage
      return stage.rawValue + (step.isParked ? 8 : 0)
    }
    return Key(
      steps: states, line: waiting.map { $0 - visited }, phase: phase,
      flags: [
        isPaused, isClosed, hasFailure, isAskedToStop, isGraceOver, isTimedOut, runsCancelHandlers,
        cancelHandlers > 0, hasWaited,
      ],
      resumptions: resumptions, waiters: Set(waiters.keys), ending: ending, progress: progress,
      ages: rate.map { rate in
        starts.suffix(rate.starts).map { min(now - $0, Int(rate.interval.components.seconds)) }
      } ?? [])
  }

  func isUnchanged(since before: Self) -> Bool {
    key == before.key && steps == before.steps && line == before.line && visited == before.visited
      && idleMark == before.idleMark && cancelHandlers == before.cancelHandlers
      && waiters == before.waiters && now == before.now
  }
}

extension ReferenceModel {
  /// Applies an event by the rules, and returns the result of the call.
  mutating func apply(_ event: OrderEvent) -> Observation {
    (notified, published) = ([], [])
    let wasIdle = isIdle
    let result = perform(event)
    // The queue is idle.
    if phase == .throttled, isPaused || waiting.isEmpty { phase = .resting }
    admitWhomThereIsRoomFor()
    // A claimed queue is idle only after the holder of the claim has checked it.
    let isChecked = event.isLook && phase == .resting
    if isIdle, isChecked || (!wasIdle && phase == .resting) {
      wake(.idle)
      publish("idle")
    }
    if phase == .resting || phase == .throttled { wake(.atRest) }
    for case .waitingBelow(let limit) in waiters.keys where waiting.count < limit {
      wake(.waitingBelow(limit))
    }
    var observation = observation
    observation.result = result
    return observation
  }

  private mutating func perform(_ event: OrderEvent) -> String {
    switch event {
    case .add: return add(parks: false)
    case .addWhenRoom: return add(parks: true)
    case .addAt(let place):
      let result = add(parks: false)
      if result.hasPrefix("entered") { put(steps.count, place) }
      return result
    case .move(let id, let place):
      guard stage(id) == .waiting else { return "moved false" }
      put(id, place)
      return "moved true"
    case .workCancelled(let id):
      guard isUndecided(id) else { return then(id, .cancellation) }
      askToStop()
      return then(id, .cancellation)
    case .next(let allowance): return begin(allowance)
    case .then(let id, let ending): return then(id, ending)
    case .addResumption(let id): return addResumption(id)
    case .returned(let continuation, let allowance): return returned(continuation, allowance)
    case .abandon(let id):
      return id == running && phase == .awaitingThen ? then(id, .failure) : "late"
    case .endCancelled(let id):
      guard isUndecided(id), isAskedToStop else { return "late" }
      guard phase == .handling else { return then(id, .cancellation) }
      isGraceOver = true
      return "counted"
    case .timeOut(let id, let waitsForThen):
      guard isUndecided(id) else { return "late" }
      let hasCancelHandlers = !isAskedToStop && cancelHandlers > 0
      askToStop()
      guard hasCancelHandlers || waitsForThen else { return then(id, .failure) }
      (isTimedOut, runsCancelHandlers) = (true, runsCancelHandlers || hasCancelHandlers)
      return hasCancelHandlers ? "calls off" : "counted"
    case .cancelHandlersReturned(let id, let waitsForThen):
      guard id == running, runsCancelHandlers else { return "late" }
      runsCancelHandlers = false
      if phase == .held || phase == .heldResuming {
        let result = phase == .held ? "claimed" : "counted"
        end(id, ending ?? .success)
        return result
      }
      return waitsForThen || phase == .ended ? "counted" : then(id, .failure)
    case .cancel(let id): return cancel(id)
    case .cancelAll: return cancelAll()
    case .cancelWaiting:
      for id in waiting { cancelWaiting(id) }
      return ""
    case .pause:
      isPaused = true
      return ""
    case .resume:
      (isPaused, hasFailure) = (false, false)
      return "claims \(claim())"
    case .close:
      isClosed = true
      return ""
    case .onCancel(let id): return onCancel(id)
    case .progress(let id, let fraction): return report(fraction, of: id)
    case .nextAt(let seconds):
      now += seconds
      return next(1, at: now)
    case .waited(let isLast):
      guard isLast, phase == .throttled else { return "late" }
      (phase, hasWaited) = (.claimed, true)
      return "claimed"
    case .wait(let condition):
      guard !holds(condition) else { return "is so" }
      waiters[condition, default: 0] += 1
      return "waits"
    }
  }

  private mutating func add(parks: Bool) -> String {
    if isClosed { return "closed" }
    let hasRoom = capacity.map { waiting.count < $0 } ?? true
    if !hasRoom && !parks { return "full" }
    if isIdle { idleMark = steps.count }
    steps.append(Step(isParked: !hasRoom))
    line.append(steps.count)
    if hasRoom && parks { notified.append("admitted true") }
    publish("added \(steps.count)")
    return "entered \(steps.count) claims \(claim())"
  }

  private mutating func put(_ id: Int, _ place: OrderEvent.Place) {
    if place == .before(id) { return }
    line.removeAll { $0 == id }
    switch place {
    case .last: line.append(id)
    case .before(let other) where stage(other) == .waiting:
      line.insert(id, at: line.firstIndex(of: other) ?? line.endIndex)
    case .first, .before:
      line.insert(id, at: line.firstIndex { stage($0) == .waiting } ?? line.endIndex)
    }
  }

  private mutating func claim() -> Bool {
    guard phase == .resting, !isPaused, !waiting.isEmpty else { return false }
    phase = .claimed
    return true
  }

  private mutating func begin(_ allowance: Int) -> String {
    switch phase {
    case .resuming: return resume(allowance)
    case .heldResuming:
      phase = .held
      return "leave"
    default: return next(allowance)
    }
  }

  private func isUndecided(_ id: Int) -> Bool {
    id == running && [.handling, .awaitingThen, .resuming].contains(phase)
  }

  private mutating func resume(_ allowance: Int) -> String {
    guard allowance > 0 else {
      phase = .resuming
      return "handOver"
    }
    phase = .handling
    resumptions -= 1
    return "resume \(running ?? 0)"
  }

  private mutating func addResumption(_ id: Int) -> String {
    guard isUndecided(id) else {
      notified.append("dropped")
      return "late"
    }
    resumptions += 1
    guard phase == .awaitingThen else { return "counted" }
    phase = .resuming
    return "claimed"
  }

  private mutating func next(_ allowance: Int, at time: Int? = nil) -> String {
    while visited < steps.count, steps[visited].stage.isOver { visited += 1 }
    guard let id = waiting.first, !isPaused else {
      phase = .resting
      return "leave"
    }
    guard allowance > 0 else { return "handOver" }
    if rate != nil {
      guard let time else { return "readTime" }
      guard due <= time || hasWaited else {
        phase = .throttled
        return "wait \(due - time)"
      }
      starts.append(max(due, time))
      hasWaited = false
    }
    phase = .handling
    steps[id - 1].stage = .running
    running = id
    // The step has left the queue, although it was moved before others that had room.
    if steps[id - 1].isParked {
      steps[id - 1].isParked = false
      notified.append("admitted true")
    }
    publish("started \(id)")
    return "run \(id)"
  }

  private mutating func then(_ id: Int, _ ending: OrderEvent.Ending) -> String {
    guard isUndecided(id) else { return "late" }
    switch phase {
    case .awaitingThen where !runsCancelHandlers:
      end(id, ending)
      return "claimed"
    case .resuming where !runsCancelHandlers:
      end(id, ending)
      return "counted"
    case .awaitingThen: phase = .held
    case .resuming: phase = .heldResuming
    default: phase = .ended
    }
    self.ending = ending
    return "counted"
  }

  private mutating func returned(
    _ continuation: SerialOrder.Continuation, _ allowance: Int
  ) -> String {
    guard let id = running else { return "impossible" }
    switch (ending, continuation) {
    case (_?, _): break
    case (nil, .called): ending = .success
    case _ where isGraceOver: ending = .cancellation
    case (nil, .dropped): ending = .failure
    case (nil, .awaited) where resumptions > 0: return resume(allowance)
    case (nil, .awaited):
      phase = .awaitingThen
      return "leave"
    }
    if runsCancelHandlers {
      phase = .held
      return "leave"
    }
    end(id, ending ?? .success)
    return next(allowance)
  }

  private mutating func end(_ id: Int, _ ending: OrderEvent.Ending) {
    let stage: Slot.Stage =
      switch ending {
      case _ where isTimedOut: .failed
      case .success: .succeeded
      case .cancellation where isAskedToStop: .cancelled
      case .failure, .cancellation: .failed
      }
    steps[id - 1].stage = stage
    if isWatched { notified.append("\(id) \(stage)") }
    publish("finished \(id) \(stage)")
    (running, phase, progress, isAskedToStop, cancelHandlers) = (nil, .claimed, 0, false, 0)
    (isTimedOut, isGraceOver, self.ending) = (false, false, nil)
    notified += Array(repeating: "dropped", count: resumptions)
    resumptions = 0
    guard stage == .failed else { return }
    switch policy {
    case .continue: break
    case .stop: (isPaused, hasFailure) = (true, true)
    case .cancelRest: for id in waiting { cancelWaiting(id) }
    }
  }

  private mutating func cancelWaiting(_ id: Int) {
    steps[id - 1].stage = .cancelled
    if steps[id - 1].isParked {
      steps[id - 1].isParked = false
      notified.append("admitted false")
    }
    if isWatched { notified.append("\(id) cancelled") }
    publish("cancelled \(id)")
  }

  private mutating func cancel(_ id: Int) -> String {
    if id == running {
      askToStop()
      return "running"
    }
    if stage(id) == .waiting { cancelWaiting(id) }
    return "not running"
  }

  private mutating func cancelAll() -> String {
    for id in waiting { cancelWaiting(id) }
    guard let running else { return "running none" }
    askToStop()
    return "running \(running)"
  }

  private mutating func askToStop() {
    isAskedToStop = true
    notified += Array(repeating: "cancel handler", count: cancelHandlers)
    cancelHandlers = 0
  }

  private mutating func onCancel(_ id: Int) -> String {
    guard id == running else { return "now false" }
    if isAskedToStop { return "now true" }
    cancelHandlers += 1
    return "now false"
  }

  private mutating func report(_ fraction: Double, of id: Int) -> String {
    guard id == running else { return "unchanged" }
    guard (progress...1).contains(fraction) else { return "refused \(progress)" }
    if fraction == progress { return "unchanged" }
    progress = fraction
    return "risen"
  }

  private mutating func admitWhomThereIsRoomFor() {
    guard let capacity else { return }
    while let id = parked.first, waiting.count - parked.count < capacity {
      steps[id - 1].isParked = false
      notified.append("admitted true")
    }
  }

  private mutating func wake(_ condition: Waiters.Condition) {
    notified += Array(repeating: "\(condition)", count: waiters.removeValue(forKey: condition) ?? 0)
  }

  private mutating func publish(_ event: String) {
    if isWatched { published.append(event) }
  }
}

extension OrderEvent {
  /// Whether the holder of the claim checks for the next step.
  var isLook: Bool {
    switch self {
    case .next, .nextAt, .returned: true
    default: false
    }
  }
}

// MARK: - What is tried

extension ReferenceModel {
  /// The events to try in this state.
  ///
  /// The compiler does not name this list: an event that is not in it is never tried.
  func events(_ waits: [Waiters.Condition]) -> [OrderEvent] {
    var events: [OrderEvent] = [.add, .cancelAll, .cancelWaiting, .pause, .resume]
    if !isClosed { events.append(.close) }
    if capacity != nil { events.append(.addWhenRoom) }
    // Bounded, to limit the number of states.
    events += waits.filter { waiters[$0] == nil }.map(OrderEvent.wait)
    switch phase {
    case .claimed, .resuming, .heldResuming:
      events += [.next(allowance: 0), .next(allowance: 1)]
    case .handling, .ended:
      for allowance in 0...1 {
        for continuation in [SerialOrder.Continuation.called, .dropped, .awaited] {
          events.append(.returned(continuation, allowance: allowance))
        }
      }
    case .resting, .throttled, .awaitingThen, .held: break
    }
    if rate != nil {
      if phase == .claimed { events += [.nextAt(after: 0), .nextAt(after: 1)] }
      events += [.waited(isLast: true), .waited(isLast: false)]
    }
    events += waiting.map(OrderEvent.cancel)
    // A running, a waiting and an ended step, if they exist.
    let over = ids { $0.stage.isOver }.last
    for id in [running, waiting.first, over].compactMap({ $0 }) {
      events += [.cancel(id), .abandon(id), .endCancelled(id), .onCancel(id)]
      events += [.timeOut(id, waitsForThen: false), .timeOut(id, waitsForThen: true)]
      events += [
        .cancelHandlersReturned(id, waitsForThen: false),
        .cancelHandlersReturned(id, waitsForThen: true),
      ]
      events.append(.workCancelled(id))
      events += [.then(id, .success), .then(id, .failure), .then(id, .cancellation)]
      if resumptions < 2 { events.append(.addResumption(id)) }
      events += [.progress(id, 0.5), .progress(id, 0.25), .progress(id, 2)]
    }
    return events
  }

  /// The events that place or move a step.
  var placings: [OrderEvent] {
    let places = [.first, .last] + waiting.map(OrderEvent.Place.before)
    var events = places.map(OrderEvent.addAt)
    for id in waiting { events += places.map { .move(id, $0) } }
    // A step that no longer waits is not moved, and the position before it is the first.
    for id in [running, ids { $0.stage.isOver }.last].compactMap({ $0 }) {
      events += [.addAt(.before(id)), .move(id, .first)]
      if let last = waiting.last { events.append(.move(last, .before(id))) }
    }
    return events
  }
}

extension OrderEvent {
  /// Whether a storm avoids the event, because it ends most steps.
  var isRare: Bool { [.cancelAll, .cancelWaiting, .pause].contains(self) }
}
