@testable import SerialPromises

/// An event of a serial order.
///
/// Steps are identified by their number.
enum OrderEvent: Hashable {
  enum Ending { case success, failure, cancellation }

  enum Place: Hashable { case first, last, before(Int) }

  case add, addWhenRoom, addPromise
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
    /// Whether the step is a promise, which is canceled with the step while it waits.
    var isPromise = false
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
  var looked = 0

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
    let states = steps[looked...].map { step -> UInt8 in
      // Both have run, and no longer affect the state.
      let stage = step.stage == .failed ? .succeeded : step.stage
      return stage.rawValue + (step.isParked ? 8 : 0) + (step.isPromise ? 16 : 0)
    }
    return Key(
      steps: states, line: waiting.map { $0 - looked }, phase: phase,
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
    key == before.key && steps == before.steps && line == before.line && looked == before.looked
      && idleMark == before.idleMark && cancelHandlers == before.cancelHandlers
      && waiters == before.waiters && now == before.now
  }
}
