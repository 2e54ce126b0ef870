@testable import SerialPromises

/// An event of a serial order.
///
/// Steps are identified by their number.
enum OrderEvent: Hashable {
  enum Ending: Int { case success, failure, cancellation }

  enum Place: Hashable { case first, last, before(Int), replacing(Int) }

  case add, addWhenRoom
  /// Adds a step whose work is canceled with it: a promise, or that of `run`.
  case addWork
  /// Adds a step that is code in a task: to the end, or only if its turn begins at once.
  case addTurn, takeTurn
  /// A task with this priority waits for the turn, or for the end of the work.
  case escalate(Int, to: Int)
  /// The task that was given the turn begins the code, on an actor that was busy.
  case begin(Int)
  /// Adds a step whose handler belongs to an actor.
  case addOnActor
  /// The holder of the claim checks on the actor of a step; with a rate, this many seconds later.
  case nextOnActor(Int, after: Int?)
  /// A thread arrives where the claim was sent: by the latest trip, or by the one before it.
  case arrive(isLast: Bool)
  /// The code of a turn that began at once has succeeded.
  case endTurn(Int)
  /// The work of the steps that were canceled while they waited has been canceled.
  case left
  case addAt(Place), move(Int, Place)
  /// The holder of the claim checks, and may run a handler or only resume a task.
  case next(runsHandlers: Bool)
  case then(Int, Ending), workCancelled(Int)
  case returned(SerialOrder.Continuation, runsHandlers: Bool)
  case abandon(Int), cancel(Int), endCancelled(Int)
  case timeOut(Int, abandoning: Bool), timedOut(Int)
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
  var phase = PhaseName.resting
  var running: Int?
  var stages: [StepStage] = []
  var waiting = 0
  var parked = 0
  var isIdle = true
  var isPaused = false
  var isClosed = false
  var hasFailure = false
  var progress = 1.0
  /// The priority of the running step's work; 0 if it has no task.
  var priority = 0
}

/// A naive implementation of the rules of a serial order, with arrays.
struct ReferenceModel: Equatable {
  struct Step: Equatable {
    var stage = StepStage.waiting
    var isParked = false
    var isWork = false
    /// Whether only its own code ends it.
    var isTurn = false
    /// Whether the code of the turn has begun.
    var hasBegun = false
    var isOnActor = false
    /// Whether its turn began when it was added; it has no handle.
    var isAtOnce = false
    /// The highest priority of the tasks that wait for it; of the work, while it runs.
    var priority = 0
  }

  let policy: FailurePolicy
  let capacity: Int?
  /// Whether all steps are observed, and a listener receives events.
  let isWatched: Bool
  let rate: Rate?
  /// Whether states are distinguished that differ only by what a sweep has visited.
  let distinguishesSweeps: Bool
  /// Whether the tasks that wait for a condition, or for room, have a priority: 2.
  let hasPriorities: Bool

  var steps: [Step] = []
  /// The waiting steps, in the order in which they are to run.
  var waiting: [Int] = []
  var phase = PhaseName.resting
  /// Whether the claim is on its way to the actor, which stays busy until a thread arrives there.
  var isForActor = false
  var running: Int?
  var isPaused = false
  var isClosed = false
  var hasFailure = false
  var ending: OrderEvent.Ending?
  var isAskedToStop = false
  /// A grace period elapsed while the step's handler ran.
  var isGraceOver = false
  /// The step's cancel handlers are being called, because its time limit elapsed.
  var runsCancelHandlers = false
  /// The timed-out step ends without its `then`.
  var isAbandoned = false
  var cancelHandlers = 0
  /// All waiting steps were canceled since the running step began.
  ///
  /// No rule depends on it, but the queue remembers which slots it has visited.
  var hasSwept = false
  /// The steps that were canceled while they waited, and whose work is being canceled.
  var leaving: [Int] = []
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

  /// The steps whose callers wait for room, in the order of the calls.
  var parked: [Int] {
    capacity == nil ? [] : steps.indices.filter { steps[$0].isParked }.map { $0 + 1 }
  }
  /// The step that was added last, of those that have ended.
  var over: Int? { steps.lastIndex { $0.stage.isOver }.map { $0 + 1 } }
  var isIdle: Bool { running == nil && waiting.isEmpty && leaving.isEmpty }

  /// The time when the next step may begin.
  var due: Int {
    guard let rate, starts.count >= rate.starts else { return 0 }
    return starts[starts.count - rate.starts] + Int(rate.interval.components.seconds)
  }

  func holds(_ condition: Waiters.Condition) -> Bool {
    switch condition {
    case .idle: isIdle
    case .atRest:
      switch phase {
      case .claimed: isPaused || waiting.isEmpty
      case .onItsWay: false
      default: running == nil
      }
    case .waitingBelow(let limit): waiting.count < limit
    }
  }

  func stage(_ id: Int) -> StepStage { steps[id - 1].stage }

  private func isTurn(_ id: Int) -> Bool { steps[id - 1].isTurn }

  /// Whether the test keeps the handle of the step, and does not read the slot instead.
  private func hasHandle(_ id: Int) -> Bool {
    (isWatched || id % 2 == 0) && !steps[id - 1].isAtOnce
  }

  private func stageOfHandle(_ id: Int) -> StepStage {
    // Without an outcome, a step waits until its work has been canceled. A step that has timed out
    // occupies its slot until it ends.
    if stage(id) == .leaving { return .waiting }
    if hasHandle(id) { return stage(id) }
    // Only a handle has the outcome.
    return id == running ? .running : stage(id).isOver ? .succeeded : stage(id)
  }

  var observation: Observation {
    let added = Double(steps.count - idleMark)
    let over = added - Double(waiting.count) - (running == nil ? 0 : 1 - progress)
    return Observation(
      notified: notified.sorted(), published: published, phase: phase, running: running,
      stages: steps.indices.map { stageOfHandle($0 + 1) },
      waiting: waiting.count, parked: parked.count, isIdle: isIdle, isPaused: isPaused,
      isClosed: isClosed, hasFailure: hasFailure, progress: added > 0 ? over / added : 1,
      priority: running.map { hasTask($0) ? steps[$0 - 1].priority : 0 } ?? 0)
  }

  // MARK: Priority

  private func hasTask(_ id: Int) -> Bool {
    (steps[id - 1].isWork || isTurn(id)) && !steps[id - 1].isAtOnce
  }

  /// The highest priority of the tasks that wait for the end of the running step.
  private var highestPriority: Int {
    let isAwaited = !waiters.isEmpty || !parked.isEmpty
    return max(
      waiting.map { steps[$0 - 1].priority }.max() ?? 0, hasPriorities && isAwaited ? 2 : 0)
  }

  /// The rule: the running work has at least the highest priority of the tasks that wait for its
  /// end.
  private mutating func raiseRunning() {
    guard let running else { return }
    steps[running - 1].priority = max(steps[running - 1].priority, highestPriority)
  }

  /// The part of the state that determines future behavior, as the digits of one number.
  ///
  /// One number, because the search makes and compares millions of keys.
  struct Key: Hashable {
    private var high: UInt64 = 0
    private var low: UInt64 = 1

    /// Traps if the digits do not fit.
    mutating func append(_ digit: Int, below base: UInt64) {
      let product = low.multipliedFullWidth(by: base)
      let (sum, carries) = product.low.addingReportingOverflow(UInt64(digit))
      high = high * base + product.high + (carries ? 1 : 0)
      low = sum
    }

    mutating func append(_ flag: Bool) { append(flag ? 1 : 0, below: 2) }
  }

  var key: Key {
    var key = Key()
    for step in steps[visited...] {
      // Both have run, and no longer affect the state.
      let stage = step.stage == .failed ? .succeeded : step.stage
      key.append(
        // No turn is parked.
        Int(stage.rawValue) + (step.isParked || step.hasBegun ? 16 : 0) + (step.isWork ? 32 : 0)
          + (step.isTurn ? 64 : 0) + (step.isOnActor ? 96 : 0) + (step.isAtOnce ? 128 : 0),
        below: 256)
      if hasPriorities { key.append(step.stage.isOver ? 0 : step.priority, below: 4) }
    }
    // Ends the steps, and then their order, relative to the first step that has not ended.
    key.append(255, below: 256)
    for id in waiting { key.append(id - visited, below: 8) }
    key.append(0, below: 8)
    key.append(phase.rawValue, below: 8)
    for flag in [
      phase == .onItsWay && isForActor,
      isPaused, isClosed, hasFailure, isAskedToStop, isGraceOver, isAbandoned, runsCancelHandlers,
      cancelHandlers > 0, hasWaited, hasSwept && distinguishesSweeps,
    ] { key.append(flag) }
    key.append(leaving.count, below: 4)
    for condition in Waiters.Condition.tried { key.append(waiters[condition] != nil) }
    key.append(ending.map { $0.rawValue + 1 } ?? 0, below: 4)
    key.append(Int(progress * 4), below: 5)
    guard let rate else { return key }
    // A wait that ends early moves the start of its step into the future.
    // The time since the latest starts, as far as the rate needs it.
    for start in starts.suffix(rate.starts) {
      key.append(min(now - start, Int(rate.interval.components.seconds)) + 8, below: 16)
    }
    return key
  }

  /// Whether an event had no effect except notifications.
  func isUnchanged(since before: Self) -> Bool {
    var state = self
    (state.notified, state.published) = (before.notified, before.published)
    return state == before
  }
}

extension ReferenceModel {
  /// Applies an event by the rules, and returns the result of the call.
  mutating func apply(_ event: OrderEvent) -> Observation {
    (notified, published) = ([], [])
    let wasIdle = isIdle
    let result = perform(event)
    // The queue is idle.
    if phase == .throttled || phase == .onItsWay, isPaused || waiting.isEmpty { phase = .resting }
    _ = takeBack()
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
    raiseRunning()
    var observation = observation
    observation.result = result
    return observation
  }

  private mutating func perform(_ event: OrderEvent) -> String {
    switch event {
    case .add: return add()
    case .addWhenRoom: return add(parks: true)
    case .addWork: return add(Step(isWork: true))
    case .addTurn: return add(Step(isTurn: true))
    case .addOnActor: return add(Step(isOnActor: true))
    case .takeTurn:
      guard isIdle, phase == .resting, !isPaused, !isClosed, rate == nil, !isWatched else {
        return "not at once"
      }
      _ = add(Step(isTurn: true, isAtOnce: true))
      _ = next(true)
      steps[steps.count - 1].hasBegun = true
      return "granted \(steps.count)"
    case .begin(let id):
      steps[id - 1].hasBegun = true
      return ""
    case .escalate(let id, let priority):
      // The task of a turn that has begun waits no more.
      if stage(id) == .waiting || stage(id) == .running && steps[id - 1].isWork {
        steps[id - 1].priority = max(steps[id - 1].priority, priority)
      }
      return ""
    case .endTurn(let id):
      guard stage(id) == .running, waiting.isEmpty, waiters.isEmpty else {
        return then(id, .success)
      }
      end(id, .success)
      phase = .resting
      return "rests"
    case .left:
      for id in leaving { cancelled(id) }
      leaving = []
      return ""
    case .addAt(let place):
      let result = add(replaces: isReplaced(by: place))
      guard result.hasPrefix("entered") else { return result }
      put(steps.count, place)
      return takeBack() ? "entered \(steps.count) claims true" : result
    case .move(let id, let place):
      guard stage(id) == .waiting else { return "moved false" }
      put(id, place)
      return "moved true"
    case .workCancelled(let id):
      guard awaitsThen(id) else { return then(id, .cancellation) }
      if isTurn(id) { isAskedToStop = true } else { askToStop() }
      return then(id, .cancellation)
    case .next(let runsHandlers): return next(runsHandlers)
    case .nextOnActor(let id, let seconds):
      now += seconds ?? 0
      return next(false, at: seconds == nil ? nil : now, onActorOf: id)
    case .arrive(let isLast):
      guard isLast, phase == .onItsWay, let id = waiting.first else { return "late" }
      phase = .claimed
      return isForActor ? "on the actor of \(id)" : "on the queue"
    case .then(let id, let ending): return then(id, ending)
    case .returned(let continuation, let runsHandlers): return returned(continuation, runsHandlers)
    case .abandon(let id):
      return id == running && phase == .awaitingThen ? then(id, .failure) : "late"
    case .endCancelled(let id):
      guard awaitsThen(id), isAskedToStop else { return "late" }
      guard phase == .handling else { return then(id, .cancellation) }
      isGraceOver = true
      return "counted"
    case .timeOut(let id, let abandoning):
      guard awaitsThen(id) else { return "late" }
      if isTurn(id) {
        if !stage(id).isOver {
          settle(id, .failed, isReceived: true)
          notified.append("\(id) has timed out and still runs")
        }
        return "counted"
      }
      if abandoning { isAbandoned = true }
      if runsCancelHandlers { return "counted" }
      if stage(id).isOver { return abandoning ? then(id, .success) : "counted" }
      runsCancelHandlers = true
      askToStop()
      return "cancels"
    case .timedOut(let id): return timedOut(id)
    case .cancel(let id): return cancel(id)
    case .cancelAll: return cancelAll()
    case .cancelWaiting:
      cancelAllWaiting()
      _ = withdraw()
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
      return next(true, at: now)
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

  /// Whether the step waits whose place another one takes.
  private func isReplaced(by place: OrderEvent.Place) -> Bool {
    if case .replacing(let other) = place { waiting.contains(other) } else { false }
  }

  private mutating func add(
    _ step: Step = Step(), parks: Bool = false, replaces: Bool = false
  ) -> String {
    if isClosed { return "closed" }
    let hasRoom = replaces || capacity.map { waiting.count < $0 } ?? true
    if !hasRoom && !parks { return "full" }
    if isIdle { idleMark = steps.count }
    steps.append(step)
    steps[steps.count - 1].isParked = !hasRoom
    waiting.append(steps.count)
    if hasRoom && parks { notified.append("admitted true") }
    publish("added \(steps.count)")
    return "entered \(steps.count) claims \(claim())"
  }

  private mutating func put(_ id: Int, _ place: OrderEvent.Place) {
    if [.before(id), .replacing(id)].contains(place) { return }
    waiting.removeAll { $0 == id }
    switch place {
    case .first: waiting.insert(id, at: 0)
    case .last: waiting.append(id)
    // The position before a step that does not wait is the first.
    case .before(let other): waiting.insert(id, at: waiting.firstIndex(of: other) ?? 0)
    // A step that does not wait is not replaced.
    case .replacing(let other):
      guard let index = waiting.firstIndex(of: other) else { return waiting.append(id) }
      waiting.insert(id, at: index)
      cancelWaiting(other)
    }
  }

  private mutating func claim() -> Bool {
    guard phase == .resting, !isPaused, !waiting.isEmpty else { return false }
    phase = .claimed
    return true
  }

  private mutating func send(toActor isForActor: Bool) {
    (phase, self.isForActor) = (.onItsWay, isForActor)
  }

  /// The queue moves while the actor, or the queue of handlers, is busy, if what is first does not
  /// need it: then some thread holds the claim.
  private mutating func takeBack() -> Bool {
    guard phase == .onItsWay, let id = waiting.first, !isPaused,
      isTurn(id) || steps[id - 1].isOnActor != isForActor
    else { return false }
    phase = .claimed
    return true
  }

  private func awaitsThen(_ id: Int) -> Bool {
    id == running && (phase == .handling || phase == .awaitingThen)
  }

  private mutating func timedOut(_ id: Int) -> String {
    guard id == running, runsCancelHandlers else { return "late" }
    runsCancelHandlers = false
    settle(id, .failed, isReceived: isWatched || policy == .stop)
    switch phase {
    case .held:
      end(id, ending ?? .success)
      return "claimed"
    case .ended: return "counted"
    default:
      if isAbandoned { return then(id, .success) }
      notified.append("\(id) has timed out and still runs")
      return "counted"
    }
  }

  private mutating func next(
    _ runsHandlers: Bool, at time: Int? = nil, onActorOf step: Int? = nil
  ) -> String {
    while visited < steps.count, steps[visited].stage.isOver { visited += 1 }
    guard let id = waiting.first, !isPaused else {
      phase = .resting
      return "leave"
    }
    if steps[id - 1].isOnActor, step != id {
      send(toActor: true)
      return "goToActor \(id)"
    }
    guard runsHandlers || isTurn(id) || step == id else {
      send(toActor: false)
      return "handOver"
    }
    if rate != nil {
      guard let time else { return "readTime" }
      guard hasWaited || due <= time else {
        phase = .throttled
        return "wait \(due - time)"
      }
      starts.append(max(due, time))
      hasWaited = false
    }
    phase = .handling
    waiting.removeFirst()
    steps[id - 1].stage = .running
    running = id
    // The step has left the queue, although it was moved before others that had room.
    if steps[id - 1].isParked {
      steps[id - 1].isParked = false
      notified.append("admitted true")
    }
    publish("started \(id)")
    guard isTurn(id) else { return "run \(id)" }
    phase = .awaitingThen
    return "grant \(id)"
  }

  private mutating func then(_ id: Int, _ ending: OrderEvent.Ending) -> String {
    guard awaitsThen(id) else { return "late" }
    // Whatever the error, if it comes after the cancellation.
    let ending = isAskedToStop && ending == .failure ? .cancellation : ending
    if phase == .awaitingThen, !runsCancelHandlers {
      end(id, ending)
      return "claimed"
    }
    phase = phase == .awaitingThen ? .held : .ended
    self.ending = ending
    return "counted"
  }

  private mutating func returned(
    _ continuation: SerialOrder.Continuation, _ runsHandlers: Bool
  ) -> String {
    guard let id = running else { return "impossible" }
    switch (ending, continuation) {
    case (_?, _): break
    case (nil, .called): ending = .success
    case _ where isGraceOver: ending = .cancellation
    case (nil, .dropped): ending = isAskedToStop ? .cancellation : .failure
    case (nil, .awaited):
      phase = .awaitingThen
      return "leave"
    }
    if runsCancelHandlers {
      phase = .held
      return "leave"
    }
    end(id, ending ?? .success)
    return next(runsHandlers)
  }

  private mutating func end(_ id: Int, _ ending: OrderEvent.Ending) {
    let isReceived = isWatched || policy == .stop || isAskedToStop || ending == .cancellation
    let stage: StepStage =
      switch ending {
      case .success: .succeeded
      case .cancellation where isAskedToStop: .cancelled
      case .failure, .cancellation: .failed
      }
    // Unless it has timed out, which is its outcome.
    if self.stage(id) == .running { settle(id, stage, isReceived: isReceived) }
    (running, phase, progress, isAskedToStop, cancelHandlers) = (nil, .claimed, 0, false, 0)
    (isAbandoned, isGraceOver, hasSwept, self.ending) = (false, false, false, nil)
  }

  private mutating func settle(_ id: Int, _ stage: StepStage, isReceived: Bool) {
    steps[id - 1].stage = stage
    if isWatched { notified.append("\(id) \(stage)") }
    if steps[id - 1].isWork { notified.append("work \(id) \(stage)") }
    publish("finished \(id) \(stage)")
    guard stage == .failed else { return }
    if !isReceived, !steps[id - 1].isWork, !isTurn(id), !hasHandle(id) {
      notified.append("\(id) failed unheard")
    }
    switch policy {
    case .continue: break
    case .stop: (isPaused, hasFailure) = (true, true)
    case .cancelRest: cancelAllWaiting()
    }
  }

  private mutating func cancelAllWaiting() {
    if !waiting.isEmpty { hasSwept = true }
    for id in waiting { cancelWaiting(id) }
  }

  private mutating func cancelWaiting(_ id: Int) {
    waiting.removeAll { $0 == id }
    if steps[id - 1].isParked {
      steps[id - 1].isParked = false
      notified.append("admitted false")
    }
    if isTurn(id) { notified.append("turn \(id) cancelled") }
    guard steps[id - 1].isWork else { return cancelled(id) }
    steps[id - 1].stage = .leaving
    leaving.append(id)
    notified.append("work \(id) cancelled")
  }

  private mutating func cancelled(_ id: Int) {
    steps[id - 1].stage = .cancelled
    if isWatched { notified.append("\(id) cancelled") }
    publish("finished \(id) cancelled")
  }

  private mutating func cancel(_ id: Int) -> String {
    if id == running {
      if !isTurn(id) { askToStop() } else { _ = withdraw() }
    } else if stage(id) == .waiting {
      cancelWaiting(id)
    }
    return ""
  }

  private mutating func cancelAll() -> String {
    cancelAllWaiting()
    guard let running, !withdraw() else { return "running none" }
    if !isTurn(running) { askToStop() }
    return "running \(running)"
  }

  /// Ends the running turn whose code has not begun.
  private mutating func withdraw() -> Bool {
    guard let id = running, isYetToBegin(id) else { return false }
    isAskedToStop = true
    end(id, .cancellation)
    return true
  }

  /// Whether a task was given the turn, and has not begun its code.
  private func isYetToBegin(_ id: Int) -> Bool {
    isTurn(id) && !steps[id - 1].hasBegun && stage(id) == .running
  }

  private mutating func askToStop() {
    if !isAskedToStop, let id = running, steps[id - 1].isWork, stage(id) == .running {
      notified.append("work \(id) is to stop")
    }
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
    case .next, .nextAt, .nextOnActor, .returned: true
    default: false
    }
  }
}

// MARK: - What is tried

extension ReferenceModel {
  /// The events to try in this state.
  ///
  /// The compiler does not name this list: an event that is not in it is never tried.
  /// With `isPlain`, no step has cancel handlers or progress, which multiply the states.
  func events(_ setting: SerialOrderTests.Setting, isPlain: Bool = false) -> [OrderEvent] {
    var events: [OrderEvent] = [.add, .cancelAll, .cancelWaiting, .pause, .resume]
    if setting.hasWork { events.append(.addWork) }
    if setting.hasTurns { events += [.addTurn, .takeTurn] }
    if setting.hasActors { events.append(.addOnActor) }
    if hasPriorities {
      let steps = (waiting + [running].compactMap { $0 }).filter { hasTask($0) }
      events += steps.flatMap { id in [1, 3].map { .escalate(id, to: $0) } }
    }
    if !leaving.isEmpty { events.append(.left) }
    if !isClosed { events.append(.close) }
    if capacity != nil { events.append(.addWhenRoom) }
    // Bounded, to limit the number of states.
    events += setting.waits.filter { waiters[$0] == nil }.map(OrderEvent.wait)
    switch phase {
    case .claimed:
      events += [.next(runsHandlers: false), .next(runsHandlers: true)]
      // The step may have been canceled or moved on the way to its actor.
      let onWay = setting.hasActors ? Set(waiting + [over].compactMap { $0 }) : []
      events += onWay.sorted().map { .nextOnActor($0, after: rate.map { _ in 0 }) }
    case .handling, .ended:
      for runsHandlers in [false, true] {
        for continuation in [SerialOrder.Continuation.called, .dropped, .awaited] {
          events.append(.returned(continuation, runsHandlers: runsHandlers))
        }
      }
    case .onItsWay:
      events.append(.arrive(isLast: false))
      // Without the moves of all other states.
      if setting.hasActors, let last = waiting.last {
        events += [.addAt(.first), .move(last, .first), .move(waiting[0], .last)]
      }
    case .resting, .throttled, .awaitingThen, .held: break
    }
    events.append(.arrive(isLast: true))
    if rate != nil {
      if phase == .claimed { events += [.nextAt(after: 0), .nextAt(after: 1)] }
      events += [.waited(isLast: true), .waited(isLast: false)]
    }
    events += waiting.map(OrderEvent.cancel)
    // A running, a waiting and an ended step, if they exist.
    for id in [running, waiting.first, over].compactMap({ $0 }) {
      events += [
        .endCancelled(id), .timeOut(id, abandoning: false), .timeOut(id, abandoning: true),
        .timedOut(id), .workCancelled(id), .then(id, .success), .then(id, .failure),
        .then(id, .cancellation),
      ]
      if id == running, isTurn(id) {
        events += steps[id - 1].isAtOnce ? [.endTurn(id)] : [.cancel(id)]
        if isYetToBegin(id) { events.append(.begin(id)) }
        continue
      }
      events += [.cancel(id), .abandon(id)]
      if isPlain { continue }
      events += [.onCancel(id), .progress(id, 0.5), .progress(id, 0.25), .progress(id, 2)]
    }
    return events
  }

  /// The events that place or move a step.
  var placings: [OrderEvent] {
    let places =
      [.first, .last] + waiting.map(OrderEvent.Place.before)
      + waiting.map(OrderEvent.Place.replacing)
    var events = places.map(OrderEvent.addAt)
    for id in waiting { events += places.map { .move(id, $0) } }
    // A step that no longer waits is not moved nor replaced, and the position before it is the
    // first.
    for id in [running, over].compactMap({ $0 }) where !(id == running && steps[id - 1].isAtOnce) {
      events += [.addAt(.before(id)), .addAt(.replacing(id)), .move(id, .first)]
      if let last = waiting.last {
        events += [.move(last, .before(id)), .move(last, .replacing(id))]
      }
    }
    return events
  }
}

extension Waiters.Condition {
  /// All that a setting awaits.
  static let tried: [Self] = [.idle, .atRest, .waitingBelow(1), .waitingBelow(2)]
}

/// A phase, without what it carries, and the running step by what it waits for.
enum PhaseName: Int {
  case resting, claimed, handling, ended, awaitingThen, held, throttled, onItsWay

  init(_ phase: SerialOrder.Phase) {
    self =
      switch phase {
      case .resting: .resting
      case .claimed: .claimed
      case .running(let step) where step.thread != nil: step.isThenCalled ? .ended : .handling
      case .running(let step): step.isThenCalled ? .held : .awaitingThen
      case .throttled: .throttled
      case .onItsWay: .onItsWay
      }
  }
}

extension OrderEvent {
  /// Whether a storm avoids the event, because it ends most steps.
  var isRare: Bool { [.cancelAll, .cancelWaiting, .pause].contains(self) }
}

/// The stage of a step, with its outcome.
enum StepStage: UInt8 {
  case waiting, running, succeeded, failed, cancelled, leaving

  var isOver: Bool { self != .waiting && self != .running }
}

extension StepOutcome {
  var stage: StepStage {
    switch self {
    case .succeeded: .succeeded
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }
}
