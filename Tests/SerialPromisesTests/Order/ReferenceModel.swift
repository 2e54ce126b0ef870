@testable import SerialPromises

/// What can be done to a serial order, a step being told by its number.
enum OrderEvent: Hashable {
  enum Ending { case success, failure, cancellation }

  enum Place: Hashable { case first, last, before(Int) }

  case add, addWhenRoom, addPromise
  case addAt(Place), move(Int, Place)
  case next(allowance: Int)
  case then(Int, Ending), cancelledElsewhere(Int)
  case goOn(Int)
  case returned(SerialOrder.Continuation, allowance: Int)
  case abandon(Int), cancel(Int), endCancelled(Int), timeOut(Int, waitsForThen: Bool)
  case calledOff(Int, waitsForThen: Bool)
  case cancelAll, pause, resume, close
  case onCancel(Int)
  case progress(Int, Double)
  case waitUntilIdle
}

/// What can be seen of a serial order after an event.
struct Observation: Equatable {
  var result = ""
  /// Who is called back, sorted: the machine promises no order among them.
  var told: [String] = []
  /// The events for those who listen, in order.
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

/// The serial order as the rules tell it, with arrays and no thought for speed.
struct ReferenceModel {
  struct Step: Equatable {
    var stage = Slot.Stage.waiting
    var isParked = false
    /// Whether the step is a promise, which is canceled with it while it waits.
    var isPromise = false
  }

  let policy: FailurePolicy
  let capacity: Int?
  /// Whether all steps are observed, and somebody listens to events.
  let isWatched: Bool

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
  /// A grace period was over while the step's handler ran.
  var isGraceOver = false
  /// The step's time was over, and its `then` is waited for.
  var isTimedOut = false
  /// Its cancel handlers are being called, because its time is over.
  var isCallingOff = false
  var cancelHandlers = 0
  /// How many further handlers the running step has.
  var resumptions = 0
  var progress = 0.0
  var idleWaiters = 0
  /// The number of steps when the queue was last idle.
  var idleMark = 0
  /// The steps up to here have been looked at by `next`.
  var looked = 0

  var told: [String] = []
  var published: [String] = []

  init(policy: FailurePolicy, capacity: Int?, isWatched: Bool) {
    self.policy = policy
    self.capacity = capacity
    self.isWatched = isWatched
  }

  /// The steps that wait, in the order in which they are to run.
  var waiting: [Int] { line.filter { stage($0) == .waiting } }
  var parked: [Int] { ids { $0.stage == .waiting && $0.isParked } }
  var isIdle: Bool { running == nil && waiting.isEmpty }

  func ids(where isIncluded: (Step) -> Bool) -> [Int] {
    steps.indices.filter { isIncluded(steps[$0]) }.map { $0 + 1 }
  }

  func stage(_ id: Int) -> Slot.Stage { steps[id - 1].stage }

  var observation: Observation {
    let added = Double(steps.count - idleMark)
    let over = added - Double(waiting.count) - (running == nil ? 0 : 1 - progress)
    return Observation(
      told: told.sorted(), published: published, phase: phase, stages: steps.map(\.stage),
      waiting: waiting.count, parked: parked.count, isIdle: isIdle, isPaused: isPaused,
      isClosed: isClosed, hasFailure: hasFailure, progress: added > 0 ? over / added : 1)
  }

  /// What makes a difference to what can happen from here on.
  struct Key: Hashable {
    var steps: [UInt8]
    /// The order of those that wait, counted from the first that is not over.
    var line: [Int]
    var phase: SerialOrder.Phase
    var flags: [Bool]
    var resumptions: Int
    var ending: OrderEvent.Ending?
    var progress: Double
  }

  var key: Key {
    let states = steps[looked...].map { step -> UInt8 in
      // Either has run, and is of no further consequence.
      let stage = step.stage == .failed ? .succeeded : step.stage
      return stage.rawValue + (step.isParked ? 8 : 0) + (step.isPromise ? 16 : 0)
    }
    return Key(
      steps: states, line: waiting.map { $0 - looked }, phase: phase,
      flags: [
        isPaused, isClosed, hasFailure, isAskedToStop, isGraceOver, isTimedOut, isCallingOff,
        cancelHandlers > 0, idleWaiters > 0,
      ],
      resumptions: resumptions, ending: ending, progress: progress)
  }

  func isUnchanged(since before: Self) -> Bool {
    key == before.key && steps == before.steps && line == before.line && looked == before.looked
      && idleMark == before.idleMark && cancelHandlers == before.cancelHandlers
      && idleWaiters == before.idleWaiters
  }
}
