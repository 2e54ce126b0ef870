@testable import SerialPromises

/// A serial order without a manager, and the notifications that it has sent.
struct OrderUnderTest {
  private var order: SerialOrder
  private let isWatched: Bool
  private let published = EventBuffer(limit: .max)
  /// The handles.
  ///
  /// Unless the steps are observed, every other handle is dropped at once.
  private var records: [StepRecord?] = []
  private var segments: [Segment] = []
  /// The step that the event replaces, if it waits.
  private var replaced: StepHandle?
  private let notified: Locked<[String]>
  private var leaving: [(work: StepRecord, id: Int)] = []
  /// The records of the steps that are work in a task, which outlive their slots.
  private var tasks: [Int: NotedRecord] = [:]
  private let hasPriorities: Bool
  /// The lock that guards the segments for live handles; unused here.
  private let lock: Locked<SerialOrder>

  private let thread = ThreadIdentity()
  private var now = Duration.zero
  private var lastWait = 0
  private var lastTrip = 0

  init(
    policy: FailurePolicy, capacity: Int?, isWatched: Bool, rate: Rate?, hasPriorities: Bool,
    lock: Locked<SerialOrder>
  ) {
    self.hasPriorities = hasPriorities
    let notified = Locked<[String]>([])
    self.notified = notified
    order = SerialOrder(
      policy: policy, capacity: capacity, rate: rate,
      diagnostics: DiagnosticHandler { diagnostic in
        notified.withLock { $0.append(diagnostic.note) }
      })
    self.isWatched = isWatched
    self.lock = lock
    if isWatched { order.line.listen(published) { .now } }
  }

  /// Releases the segments one at a time, as a manager does.
  mutating func invalidate() {
    order.invalidate()
    order.takeEffects().perform { _ in }
    while order.line.queue.removeSegment() != nil {}
  }

  mutating func apply(_ event: OrderEvent) -> String {
    notified.withLock { $0 = [] }
    if isWatched { _ = published.removeAll() }
    let result = perform(event)
    order.takeEffects().perform { leaving += $0 }
    lookWhereStepsAre()
    return result
  }

  /// Steps without a record are found by their segment, which a move may have split.
  private mutating func lookWhereStepsAre() {
    var segment = order.queue.head
    while let current = segment {
      for id in current.base..<min(current.end, order.queue.end)
      where current.slot(id).pointee.stage != .moved {
        segments[id - 1] = current
      }
      segment = current.next
    }
    // The segment of a step that was replaced may have been split, and its part removed.
    guard let replaced = replaced.take(), replaced.record.outcome != nil else { return }
    let over = Segment(base: replaced.id, capacity: 1, lock: lock)
    over.slots.pointee.stage = .over
    segments[replaced.id - 1] = over
  }

  func observation(_ result: String) -> Observation {
    let stages = records.indices.map { index in
      records[index]?.state(of: index + 1).stage
        ?? segments[index].slot(index + 1).pointee.stage.withoutOutcome
    }
    return Observation(
      result: result, notified: notified.withLock { $0 }.sorted(),
      published: published.removeAll().map { SerialPromisesTests.text($0) },
      phase: PhaseName(order.phase), running: order.runningStep?.id, stages: stages,
      waiting: order.waitingCount,
      parked: order.line.backpressure.parked, isIdle: order.isIdle, isPaused: order.isPaused,
      isClosed: order.isClosed, hasFailure: order.failure != nil, progress: order.progress,
      priority: order.runningStep.flatMap { tasks[$0.id]?.priority } ?? 0)
  }

  private mutating func perform(_ event: OrderEvent) -> String {
    switch event {
    case .add: return add(nil)
    case .addWork: return add(WorkUnderTest(lock, "work \(order.queue.end)", notified))
    case .addTurn: return add(TurnUnderTest(lock, "turn \(order.queue.end)", notified))
    case .addOnActor: return add(StepRecord(lock, isolation: MainActor.shared))
    case .takeTurn:
      guard let id = order.grantAtOnce(lock) else { return "not at once" }
      records.append(nil)
      segments.append(order.queue.firstSegment)
      return "granted \(id)"
    case .endTurn(let id):
      if order.endGranted(id) { return "rests" }
      return text(order.then(id: id, error: nil))
    case .left:
      order.left(leaving)
      leaving = []
    case .addAt(let place): return add(StepRecord(lock), at: self.place(place))
    case .move(let id, let place):
      return "moved \(order.move(id, record(id), to: self.place(place)) != nil)"
    case .addWhenRoom:
      let admission = order.addWhenRoom(
        Work { _ in }, StepRecord(lock), lock: lock, owner: nil,
        admitted: { [notified] has in notified.withLock { $0.append("admitted \(has)") } })
      if hasPriorities, case .entered(_, let id, _) = admission {
        order.raisingRunning { $0.line.raiseAdder(of: id, to: 2) }
      }
      return entered(admission)
    case .next(let runsHandlers): return next(runsHandlers ? .all : .none)
    case .nextOnActor(let id, let seconds): return next(.onActor(of: id), after: seconds)
    case .arrive(let isLast):
      let ticket = isLast ? lastTrip : lastTrip - 1
      return switch order.arrive(ticket)?.reach {
      case nil: "late"
      case .onActor(let id): "on the actor of \(id)"
      case .none?, .all, .only, .insideThen: "on the queue"
      }
    case .then(let id, let ending):
      return text(order.then(id: id, error: ending.error))
    case .returned(let continuation, let runsHandlers):
      let reach = runsHandlers ? SerialOrder.Reach.all : .none
      return text(order.handlerReturned(continuation, reach, on: thread), reach)
    case .workCancelled(let id):
      order.workCancelled(id)
      return text(order.then(id: id, error: CancellationError()))
    case .abandon(let id): return text(order.abandon(id: id))
    case .endCancelled(let id): return text(order.endCancelled(id: id))
    case .timeOut(let id, let abandoning):
      let error = PromiseError.timedOut(.seconds(1))
      return order.timeOut(id: id, error: error, abandoning: abandoning).map(text)
        ?? "cancels"
    case .timedOut(let id): return text(order.timedOut(id: id))
    case .cancel(let id):
      order.cancel(id, record(id))
    case .cancelAll:
      return "running \(order.cancelAll().map(String.init) ?? "none")"
    case .cancelWaiting: order.cancelNotBegun()
    case .escalate(let id, let priority):
      guard let task = tasks[id], !(task is TurnUnderTest && order.isRunning(id)) else { break }
      if task.outcome == nil { task.raise(to: TaskPriority(rawValue: UInt8(priority))) }
      order.wait(for: task, at: UInt8(priority))
    case .begin(let id): (record(id) as? TurnUnderTest)?.begin()
    case .pause: order.pause(for: nil)
    case .resume:
      return "claims \(order.resume(for: nil))"
    case .close: order.close(for: nil)
    case .onCancel(let id):
      let note = { @Sendable [notified] in notified.withLock { $0.append("cancel handler") } }
      return "now \(order.supervision(of: id)?.onCancel(note) ?? false)"
    case .progress(let id, let fraction):
      return text(order.supervision(of: id)?.progress.report(fraction) ?? .unchanged)
    case .nextAt(let seconds): return next(.all, after: seconds)
    case .waited(let isLast):
      return text(order.waited(isLast ? lastWait : lastWait - 1))
    case .wait(let condition):
      let note = { @Sendable [notified] in notified.withLock { $0.append("\(condition)") } }
      guard let ticket = order.wait(for: condition, note) else { return "is so" }
      if hasPriorities { order.raisingRunning { $0.line.waiters.raise(ticket, to: 2) } }
      return "waits"
    }
    return ""
  }

  private mutating func next(_ reach: SerialOrder.Reach, after seconds: Int? = nil) -> String {
    now += .seconds(seconds ?? 0)
    let time = seconds.map { _ in now }
    var turn = order.next(reach, on: thread, at: time)
    while case .again = turn.move { turn = order.next(reach, on: thread, at: time) }
    guard let wait = order.throttledWait else { return text(turn, reach) }
    lastWait = wait.ticket
    return "wait \(wait.duration.components.seconds)"
  }

  private mutating func place(_ place: OrderEvent.Place) -> StepPlace {
    switch place {
    case .first: .first
    case .last: .last
    case .before(let id): .before(StepHandle(record: record(id), id: id))
    case .replacing(let id): .replacing(replaced(id))
    }
  }

  private mutating func replaced(_ id: Int) -> StepHandle {
    let handle = StepHandle(record: record(id), id: id)
    if handle.segmentOfWaiting(in: lock) != nil { replaced = handle }
    return handle
  }

  /// The record, as if the handle had been kept.
  private mutating func record(_ id: Int) -> StepRecord {
    if let record = records[id - 1] { return record }
    let segment = segments[id - 1]
    guard segment.slot(id).pointee.stage.isOver else {
      return order.line.queue.record(of: id, in: segment)
    }
    let closed = StepRecord(lock)
    closed.close(.succeeded)
    return closed
  }

  private mutating func add(_ record: StepRecord?, at place: StepPlace = .last) -> String {
    // The code of a turn is in its task.
    var work = record is TurnUnderTest ? nil : Work { _ in }
    if let record = record as? NotedRecord { tasks[order.queue.end] = record }
    return entered(order.add(&work, record, at: place, lock: lock, owner: nil))
  }

  private mutating func entered(_ admission: SerialOrder.Admission) -> String {
    switch admission {
    case .refused(.full): return "full"
    case .refused(let error): return "\(error)".contains("closed") ? "closed" : "\(error)"
    case .entered(let record, let id, let claims):
      guard let segment = record.segment else { return "entered without a segment" }
      records.append(isWatched || id % 2 == 0 ? record : nil)
      segments.append(segment)
      if isWatched {
        order.line.queue.record(of: id, in: segment).observers.append { [notified] outcome in
          notified.withLock { $0.append("\(id) \(outcome.stage)") }
        }
      }
      return "entered \(id) claims \(claims)"
    }
  }

  private mutating func text(_ turn: SerialOrder.Turn, _ reach: SerialOrder.Reach) -> String {
    switch turn.move {
    case .run: return turn.work == nil ? "run without a handler" : "run \(turn.id)"
    case .again: return next(reach)
    case .grant: return "grant \(turn.id)"
    case .readTime: return "readTime"
    case .depart(let ticket):
      lastTrip = ticket
      return turn.isolation == nil ? "handOver" : "goToActor \(turn.id)"
    case .leave: return "leave"
    }
  }

  private func text(_ result: SerialOrder.ThenResult) -> String {
    switch result {
    case .counted: "counted"
    case .claimed: "claimed"
    case .late: "late"
    }
  }

  private func text(_ result: Progress.Change) -> String {
    switch result {
    case .risen: "risen"
    case .unchanged: "unchanged"
    case .refused: "refused \(order.stepProgress)"
    }
  }
}

/// The record of a step that receives its failure, which notes what it is notified of.
private class NotedRecord: StepRecord, @unchecked Sendable {
  // Sendable as its superclass: used by one thread.
  private let title: String
  private let notified: Locked<[String]>

  init(_ lock: Locked<SerialOrder>, _ title: String, _ notified: Locked<[String]>) {
    self.title = title
    self.notified = notified
    super.init(lock)
  }

  func note(_ text: String) { notified.withLock { $0.append("\(title) \(text)") } }

  /// The priority of the work: its own, and what it was raised to.
  private(set) var priority = 0

  override var receivesFailures: Bool { true }
  override func raise(to priority: TaskPriority) {
    self.priority = max(self.priority, Int(priority.rawValue))
  }
  override func ended(_ outcome: StepOutcome) { note("\(outcome.stage)") }
}

/// The work of a step.
private final class WorkUnderTest: NotedRecord, @unchecked Sendable {
  override var isWork: Bool { true }
  override var leavesFirst: Bool { true }
  override func cancelWork() { note("is to stop") }
}

/// The caller of a turn, which waits until it begins.
private final class TurnUnderTest: NotedRecord, @unchecked Sendable {
  // Sendable as its superclass: used by one thread.
  private var waits = true
  private var hasBegun = false

  func begin() { hasBegun = true }

  override var isYetToBegin: Bool { !waits && !hasBegun }
  override var isWork: Bool { waits }
  override var endsItself: Bool { true }

  override func takeWaiter() -> UnsafeContinuation<Bool, Never>? {
    waits = false
    return nil
  }
}

extension Diagnostic {
  fileprivate var note: String {
    switch self {
    case .timedOut(let step): "\(step.id) has timed out and still runs"
    case .unhandledStepFailure(let step, _): "\(step.id) failed unheard"
    default: description
    }
  }
}

extension OrderEvent.Ending {
  fileprivate var error: (any Error)? {
    switch self {
    case .success: nil
    case .failure: Failed()
    case .cancellation: CancellationError()
    }
  }
}

extension Slot.Stage {
  fileprivate var withoutOutcome: StepStage {
    switch self {
    case .waiting, .leaving: .waiting
    case .running: .running
    case .over, .moved: .succeeded
    }
  }
}

extension StepHandle.State {
  fileprivate var stage: StepStage {
    switch self {
    case .waiting: .waiting
    case .running: .running
    case .over(let outcome): outcome.stage
    }
  }
}
