@testable import SerialqSystem

@testable import SerialqQueue

/// Something that happens to a queue: what is written follows from the state it is in.
enum Act {
  case add(JobID, JobSpec, Place = .last)
  case start(JobID, hasTerminal: Bool = false, launcher: Bytes? = nil, at: ClockReading = moment())
  /// The job cannot be started for want of this; takes back a start before which it was like
  /// `before`.
  case postpone(JobID, Bytes, before: JobStatus? = nil, at: ClockReading = moment())
  case end(
    JobID, Ending = .exited(0), EndCause = .itself, duration: Int64 = 1, at: ClockReading = moment()
  )
  case interrupt(JobID, isStopped: Bool = false, at: ClockReading = moment())
  case spawn(JobID, pid: Int32)
  case request(JobID, Int32, at: ClockReading = moment())
  case suspend(JobID, at: ClockReading = moment())
  case `continue`(JobID, at: ClockReading = moment())
  case ask(JobID, Question?)
  case leave(JobID, Bytes)
  case unlog(JobID, Bytes)
  case failHook(JobID, Ending)
  case acknowledge(JobID)
  case cancel([JobID], at: Timestamp = .test)
  case skip(JobID, because: JobID, at: Timestamp = .test)
  case retry([JobID], first: Bool = false)
  case move([JobID], Place)
  case edit(JobID, JobSpec, checks: Bool = false)
  /// A change of the settings, or of what the queue remembers.
  case set((inout QueueProperties) -> Void)
  case write(Entry)

  static func add(_ id: JobID, _ line: String = "true") -> Act { .add(id, spec(line)) }

  static func forget(_ ids: ClosedRange<JobID>) -> Act { .write(.forgotten([ids])) }

  static func pause(because id: JobID? = nil) -> Act {
    .set { $0.pause = QueueProperties.Pause(at: .test, because: id) }
  }

  static var resume: Act { .set { $0.pause = nil } }
}

func spec(_ line: String = "true", _ details: JobSpec.Details = JobSpec.Details()) -> JobSpec {
  JobSpec(
    .shell(Bytes(line.utf8)),
    in: ExecutionContext(directory: Bytes("/"), environment: Bytes("e"), umask: 0o22), details,
    added: Timestamp(microseconds: 1_800_000_000_000_000))
}

extension Timestamp {
  /// That of most tests.
  static let test = Timestamp(microseconds: 1_800_000_000_000_000)
}

func moment(_ date: Timestamp = .test, monotonic: Int64 = 0, boot: String = "b") -> ClockReading {
  ClockReading(date: date, monotonic: monotonic, boot: Bytes(boot.utf8))
}

extension QueueChanges {
  /// Applies what happens, as the commands and the runner do; nothing if it does not apply.
  mutating func perform(_ act: Act) {
    switch act {
    case .add(let id, let spec, let place):
      append(.job(id, spec))
      if place != .last { move([id], to: place) }
    case .start(let id, let hasTerminal, let launcher, let clocks):
      change(id) {
        $0.started(
          at: clocks, hasTerminal: hasTerminal, launch: launcher.map { Launch(command: $0) })
      }
    case .postpone(let id, let missing, let before, let at):
      change(id) { (before ?? $0).postponed(for: missing, at: at.date) }
    case .end(let id, let how, let cause, let duration, let at):
      end(id, .ended(how, cause, duration: duration), at)
    case .interrupt(let id, let isStopped, let at): end(id, .interrupted(isStopped: isStopped), at)
    case .spawn(let id, let pid): change(id) { $0.spawned(pid) }
    case .request(let id, let signal, let at): change(id) { $0.requested(signal, at: at) }
    case .suspend(let id, let at): change(id) { $0.suspended(at: at) }
    case .continue(let id, let at): change(id) { $0.continued(at: at) }
    case .ask(let id, let question): change(id) { $0.asked(question) }
    case .leave(let id, let processes): change(id) { $0.left(processes) }
    case .unlog(let id, let reason): change(id) { $0.unlogged(reason) }
    case .failHook(let id, let how): change(id) { $0.hookFailed(how) }
    case .acknowledge(let id): change(id) { $0.acknowledged() }
    case .cancel(let ids, let at): cancel(ids, at: at)
    case .skip(let id, let because, let at):
      change(id) { $0.left(.skipped(because: because), at: at) }
    case .retry(let ids, let first): retry(ids.compactMap(queue.job), first: first)
    case .move(let ids, let place): move(ids, to: place)
    case .edit(let id, let spec, let checks):
      if queue.job(id)?.state == .waiting { edit(id, to: spec, checks: checks) }
    case .set(let change):
      var properties = queue.properties
      change(&properties)
      append(.queue(properties))
    case .write(let entry): append(entry)
    }
  }

  private mutating func end(_ id: JobID, _ outcome: JobStatus.Outcome, _ at: ClockReading) {
    guard let job = queue.job(id), let over = job.status.ended(outcome, at: at.date) else { return }
    for entry in queue.end(of: job, over, at: at) { append(entry) }
  }
}

extension Queue {
  /// Applies what happens; returns the lines that are written for it.
  @discardableResult
  mutating func perform(_ acts: [Act]) -> [Entry] {
    var changes = QueueChanges(self)
    for act in acts { changes.perform(act) }
    self = changes.queue
    return changes.entries
  }

  @discardableResult
  mutating func perform(_ acts: Act...) -> [Entry] { perform(acts) }

  /// The queue after a compaction.
  func compacted() throws -> Queue {
    var compacted = Queue()
    try forEachEntry {
      compacted.apply(Record(entry: $0, next: nextID, more: 0, isPaused: isPaused))
    }
    return compacted
  }
}

/// A queue after these.
func queue(_ acts: [Act]) -> Queue {
  var queue = Queue()
  queue.perform(acts)
  return queue
}

func queue(_ acts: Act...) -> Queue { queue(acts) }

/// A job in a state, with a last attempt that started then and took so long.
func jobAfter(
  _ spec: JobSpec, id: JobID = 1, _ state: JobState, started: Timestamp? = nil,
  nanoseconds: Int64 = 0
) -> Job? {
  let at = spec.added
  var acts = [Act.add(id, spec)]
  if state == .skipped { acts.append(.skip(id, because: 1, at: at)) }
  if state != .waiting, state != .skipped {
    acts.append(.start(id, at: moment(started ?? at, boot: "")))
  }
  func end(_ how: Ending, _ cause: EndCause = .itself) -> Act {
    .end(id, how, cause, duration: nanoseconds, at: moment(at))
  }
  switch state {
  case .waiting, .running, .skipped: break
  case .succeeded: acts.append(end(.exited(0)))
  case .failed: acts.append(end(.exited(1)))
  case .killed: acts.append(end(.killed(9)))
  case .timedOut: acts.append(end(.killed(15), .timedOut))
  case .cancelled: acts.append(end(.killed(15), .cancelled))
  case .interrupted: acts.append(.interrupt(id, at: moment(at)))
  }
  let job = queue(acts).job(id)
  precondition(job?.state == state, "nothing leads to this state")
  return job
}
