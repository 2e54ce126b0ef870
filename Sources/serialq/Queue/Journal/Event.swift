import SerialqSystem

/// The number of a job in its queue, counted from 1 and never reused.
package typealias JobID = Int

/// The position of a job among the waiting jobs.
package enum Place: Equatable, Sendable {
  case last
  case first
  case before(JobID)
  case after(JobID)

  /// The job that the position is relative to.
  package var neighbor: JobID? {
    switch self {
    case .first, .last: nil
    case .before(let id), .after(let id): id
    }
  }
}

/// The conditions, timeout and retries of a job; most jobs have none.
package struct Limits: Equatable, Sendable {
  /// In seconds; 0 for no timeout.
  package var timeout = 0
  /// The number of automatic retries after a failure.
  package var retries = 0
  /// Seconds to wait before each retry.
  package var retryDelay = 0
  /// Whether the job is skipped unless the previous job succeeded.
  package var ifOK = false
  /// The job is skipped unless all of these succeeded; ascending, and lower than its own id.
  ///
  /// Without those that succeeded and were forgotten: one that is missing did not succeed.
  package var after: [ClosedRange<JobID>] = []

  package static let none = Limits()
}

/// The properties of a job that `add` records.
package struct NewJob: Equatable, Sendable {
  package var id: JobID
  package var payload: Payload
  package var limits: Limits
  package var place: Place
  package var at: Timestamp

  package init(
    id: JobID, _ payload: Payload, limits: Limits = .none, place: Place = .last, at: Timestamp
  ) {
    self.id = id
    self.payload = payload
    self.limits = limits
    self.place = place
    self.at = at
  }
}

/// Returns a finished job to the waiting ones.
package struct Retry: Equatable, Sendable {
  package internal(set) var id: JobID
  var at: Timestamp
  /// The number of attempts so far.
  var attempts: Int
  /// The number of automatic retries used; 0 after a manual retry.
  var used = 0
  var place = Place.last
  /// The earliest start.
  var due: Timestamp?
  /// Whether the job runs regardless of the results of other jobs.
  var isFree = false
  /// Whether the last attempt so far had a terminal, in a compacted journal.
  var hasTerminal = false
}

/// The properties of a waiting job after a change of more than its command.
package struct EditedOptions: Equatable, Sendable {
  package var context: ExecutionContext
  // Here, it takes no further space.
  package var terminal: JobTerminal?
  package var label: Bytes?
  package var limits: Limits
  /// Whether the job runs regardless of the results of other jobs, as after a retry.
  var isFree = false

  package init(
    context: ExecutionContext, label: Bytes?, terminal: JobTerminal? = nil, limits: Limits
  ) {
    self.context = context
    self.label = label
    self.terminal = terminal
    self.limits = limits
  }
}

/// The results of the jobs that ended since the on-idle command last started, or was set.
///
/// An attempt that is followed by an automatic retry is none.
package struct Results: Equatable, Sendable {
  package var succeeded = 0
  package var failed = 0
  package var skipped = 0
  package var cancelled = 0
  /// Whether a job ran: otherwise an idle queue does not run the command.
  package var hasRun = false

  package init() {}

  /// Adds to the number of jobs that ended in this state, which stays in the range of a line.
  mutating func count(_ state: JobState, _ change: Int) {
    func changed(_ count: Int) -> Int { min(max(0, count + change), JobID.valid.upperBound) }
    switch state {
    case .waiting, .running: break
    case .succeeded: succeeded = changed(succeeded)
    case .failed, .killed, .timedOut, .interrupted: failed = changed(failed)
    case .skipped: skipped = changed(skipped)
    case .cancelled: cancelled = changed(cancelled)
    }
  }
}

/// One change of the queue's settings.
package enum Setting: Equatable, Sendable {
  case stopsOnFailure(Bool)
  case onFinish(Hook?)
  case onIdle(Hook?)
  case onAsk(Hook?)
  /// The number of finished jobs to keep; nil for all.
  case keep(Int?)
  /// The shell for command lines; nil for the default.
  case shell(Bytes?)
  /// The most bytes to keep of the log of a finished job; nil for all.
  case logLimit(Int?)
  /// Whether jobs get a terminal.
  case terminal(Bool)
  /// The command that executes jobs, as a line for the shell; nil for none.
  case launcher(Bytes?)
}

/// A change of a queue; the state of the queue is the result of all events in order.
///
/// A new kind of event needs one case here, one branch each in ``encode(to:)`` and
/// ``init(from:sharing:)``, and one in ``Queue/apply(_:)-(Event)``.
package enum Event: Equatable, Sendable {
  case added(NewJob)
  /// Flushed before the process is started. `boot` distinguishes processes of this boot from
  /// earlier ones. `uptime` is the monotonic clock: the date may change while the job runs.
  /// `hasTerminal` is whether the attempt has a terminal of its own.
  case started(
    id: JobID, attempt: Int, at: Timestamp, boot: Bytes, uptime: Int64? = nil,
    hasTerminal: Bool = false)
  case spawned(id: JobID, pid: Int32)
  /// `duration` is in nanoseconds of the monotonic clock.
  case ended(id: JobID, at: Timestamp, duration: Int64, how: Ending, cause: EndCause)
  /// The job was running when its runner or the machine died.
  ///
  /// `stopped` is whether the runner was stopped by a signal, and ended the job.
  case interrupted(id: JobID, at: Timestamp, stopped: Bool = false)
  /// A request that the runner terminate the job, with this signal first.
  case cancelling(id: JobID, at: Timestamp, signal: Int32)
  /// A request that the runner stop the job's processes, until ``continued(id:at:uptime:)``.
  ///
  /// `uptime` is the monotonic clock; durations and time limits exclude the time between the two.
  case suspended(id: JobID, at: Timestamp, uptime: Int64)
  /// A request that the runner continue the job.
  case continued(id: JobID, at: Timestamp, uptime: Int64)
  /// Processes of the running job that cannot be signaled, and why; as text.
  case left(id: JobID, processes: Bytes)
  /// The running job seems to ask this on its terminal; nil if it no longer does.
  case asked(id: JobID, at: Timestamp, question: Question?)
  /// Output of the running job could not be written to its log, and why; as text.
  case unlogged(id: JobID, reason: Bytes)
  /// A launcher executes the attempt; again with what it reported, before the attempt ends.
  case launched(id: JobID, Launch)
  /// A waiting job was cancelled, or a running one was, and its end was not observed.
  case cancelled(id: JobID, at: Timestamp)
  /// The job required the success of a job that did not succeed.
  case skipped(id: JobID, at: Timestamp, because: JobID)
  case retried(Retry)
  case moved(id: JobID, at: Timestamp, place: Place)
  /// `options` is nil if only the command changes.
  case edited(id: JobID, at: Timestamp, command: Command, options: EditedOptions? = nil)
  /// The failure was acknowledged.
  case acknowledged(id: JobID, at: Timestamp)
  /// Finished jobs to remove from the queue.
  case forgotten(ids: [ClosedRange<JobID>], at: Timestamp)
  /// No job starts until ``resumed(at:)``; `because` is the job that failed, or nil for a manual
  /// pause.
  case paused(at: Timestamp, because: JobID?)
  case resumed(at: Timestamp)
  case set(Setting, at: Timestamp)
  /// The on-finish command of the job failed, or, without a job, the on-idle command.
  case hookFailed(id: JobID?, at: Timestamp, how: Ending)
  /// The results counted for the on-idle command so far: none, when it starts.
  case counted(Results, at: Timestamp)
  /// The first line of a compacted journal; preserves the next free id if no other line does.
  case compacted(at: Timestamp)
  /// The job that had the last turn, in a compacted journal: the job itself may have been
  /// forgotten.
  case previous(id: JobID, succeeded: Bool)
}

extension Event {
  /// The job that the event concerns.
  package var job: JobID? {
    switch self {
    case .added(let job): job.id
    case .retried(let retry): retry.id
    case .started(let id, _, _, _, _, _), .spawned(let id, _), .ended(let id, _, _, _, _),
      .interrupted(let id, _, _), .cancelling(let id, _, _), .suspended(let id, _, _),
      .continued(let id, _, _), .left(let id, _), .asked(let id, _, _), .unlogged(let id, _),
      .launched(let id, _), .cancelled(let id, _),
      .skipped(let id, _, _), .moved(let id, _, _), .edited(let id, _, _, _),
      .acknowledged(let id, _):
      id
    case .hookFailed(let id, _, _): id
    case .forgotten, .paused, .resumed, .set, .counted, .compacted, .previous: nil
    }
  }
}

extension Event {
  /// The jobs that it removes.
  package var forgottenIDs: [ClosedRange<JobID>] {
    if case .forgotten(let ids, _) = self { ids } else { [] }
  }
}

/// An event with the metadata of its journal line.
package struct Record: Equatable, Sendable {
  var event: Event
  /// The next free id after this event.
  var next: JobID
  /// The number of lines of the same batch that follow.
  var more: Int
  /// Whether the queue is paused after this event; lets `add` read it from the last line alone.
  var isPaused = false
}
