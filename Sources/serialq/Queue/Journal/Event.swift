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
  /// Whether the job runs regardless of the result of the previous one.
  var isFree = false
}

/// One change of the queue's settings.
package enum Setting: Equatable, Sendable {
  case stopsOnFailure(Bool)
  case onFinish(Hook?)
  /// The number of finished jobs to keep; nil for all.
  case keep(Int?)
}

/// A change of a queue; the state of the queue is the result of all events in order.
///
/// A new kind of event needs one case here, one branch each in ``encode(to:)`` and
/// ``init(from:sharing:)``, and one in ``Queue/apply(_:)-(Event)``.
package enum Event: Equatable, Sendable {
  case added(NewJob)
  /// Flushed before the process is started. `boot` distinguishes processes of this boot from
  /// earlier ones. `uptime` is the monotonic clock: the date may change while the job runs.
  case started(id: JobID, attempt: Int, at: Timestamp, boot: Bytes, uptime: Int64? = nil)
  case spawned(id: JobID, pid: Int32)
  /// `duration` is in nanoseconds of the monotonic clock.
  case ended(id: JobID, at: Timestamp, duration: Int64, how: Ending, cause: EndCause)
  /// The job was running when its runner or the machine died.
  case interrupted(id: JobID, at: Timestamp)
  /// A request that the runner terminate the job, with this signal first.
  case cancelling(id: JobID, at: Timestamp, signal: Int32)
  /// A waiting job was cancelled, or a running one was, and its end was not observed.
  case cancelled(id: JobID, at: Timestamp)
  /// The job required the success of a job that did not succeed.
  case skipped(id: JobID, at: Timestamp, because: JobID)
  case retried(Retry)
  case moved(id: JobID, at: Timestamp, place: Place)
  case edited(id: JobID, at: Timestamp, command: Command)
  /// The failure was acknowledged.
  case acknowledged(id: JobID, at: Timestamp)
  /// Finished jobs to remove from the queue.
  case forgotten(ids: [ClosedRange<JobID>], at: Timestamp)
  /// No job starts until ``resumed(at:)``; `because` is the job that failed, or nil for a manual
  /// pause.
  case paused(at: Timestamp, because: JobID?)
  case resumed(at: Timestamp)
  case set(Setting, at: Timestamp)
  /// The on-finish command of the job failed.
  case hookFailed(id: JobID, at: Timestamp, how: Ending)
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
    case .started(let id, _, _, _, _), .spawned(let id, _), .ended(let id, _, _, _, _),
      .interrupted(let id, _), .cancelling(let id, _, _), .cancelled(let id, _),
      .skipped(let id, _, _), .moved(let id, _, _), .edited(let id, _, _),
      .acknowledged(let id, _), .hookFailed(let id, _, _):
      id
    case .forgotten, .paused, .resumed, .set, .compacted, .previous: nil
    }
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
