import SerialqSystem

/// The number of a job in its queue, from 1 on, never used twice.
package typealias JobID = Int

/// Where a job goes among those that wait.
package enum Place: Equatable, Sendable {
  case last
  case first
  case before(JobID)
  case after(JobID)

  /// The job that it is given by.
  package var neighbour: JobID? {
    switch self {
    case .first, .last: nil
    case .before(let id), .after(let id): id
    }
  }
}

/// Under which conditions a job runs, and how long and how often; most jobs have none.
package struct Limits: Equatable, Sendable {
  /// In seconds; 0 for none.
  package internal(set) var timeout = 0
  /// How often it is started again by itself when it failed.
  var retries = 0
  /// How many seconds to wait before that.
  package internal(set) var retryDelay = 0
  /// Whether it is skipped unless the job before it succeeded.
  var ifOK = false

  package init(timeout: Int = 0, retries: Int = 0, retryDelay: Int = 0, ifOK: Bool = false) {
    self.timeout = timeout
    self.retries = retries
    self.retryDelay = retryDelay
    self.ifOK = ifOK
  }

  package static let none = Limits()
}

/// What `add` writes down of a job.
package struct NewJob: Equatable, Sendable {
  var id: JobID
  var command: Command
  var directory: Bytes
  /// The key of ``Environments``.
  var environment: Bytes
  var umask: UInt16
  var label: Bytes?
  var limits = Limits.none
  package var place = Place.last
  var at: Timestamp

  package init(
    id: JobID, command: Command, directory: Bytes, environment: Bytes, umask: UInt16,
    label: Bytes? = nil, limits: Limits = Limits.none, place: Place = Place.last, at: Timestamp
  ) {
    self.id = id
    self.command = command
    self.directory = directory
    self.environment = environment
    self.umask = umask
    self.label = label
    self.limits = limits
    self.place = place
    self.at = at
  }
}

/// A job that is over waits again.
package struct Retry: Equatable, Sendable {
  package internal(set) var id: JobID
  var at: Timestamp
  /// How many attempts there have been.
  var attempts: Int
  /// How many of those still to come by themselves have been used up; 0 when a person asked.
  var used = 0
  var place = Place.last
  /// Not to be started before.
  var due: Timestamp?
  /// Whether it runs whatever became of the job before it.
  var isFree = false

  package init(
    id: JobID, at: Timestamp, attempts: Int, used: Int = 0, place: Place = Place.last,
    due: Timestamp? = nil, isFree: Bool = false
  ) {
    self.id = id
    self.at = at
    self.attempts = attempts
    self.used = used
    self.place = place
    self.due = due
    self.isFree = isFree
  }
}

/// One change of the queue's settings.
package enum Setting: Equatable, Sendable {
  case stopsOnFailure(Bool)
  case onFinish(Hook?)
  /// How many finished jobs are kept; nil for all.
  case keep(Int?)
}

/// What happened to a queue; its state is what the events give, one after another.
///
/// A new kind of event is one case here, one branch in each of ``encode(to:)`` and
/// ``init(from:sharing:)``, and one in ``Queue/apply(_:)-(Event)``.
package enum Event: Equatable, Sendable {
  case added(NewJob)
  /// Flushed before the process is made. `boot` tells a process of this start of the machine from
  /// one before. `uptime` is the monotonic clock's time: the date may be set while the job runs.
  case started(id: JobID, attempt: Int, at: Timestamp, boot: Bytes, uptime: Int64? = nil)
  case spawned(id: JobID, pid: Int32)
  /// `duration` is in nanoseconds of the monotonic clock.
  case ended(id: JobID, at: Timestamp, duration: Int64, how: Ending, cause: EndCause)
  /// It was running when its runner or the machine died.
  case interrupted(id: JobID, at: Timestamp)
  /// Somebody asks its runner to end it, with this signal first.
  case cancelling(id: JobID, at: Timestamp, signal: Int32)
  /// It was waiting and will never run; or it was told to end, and nobody saw how it did.
  case cancelled(id: JobID, at: Timestamp)
  /// It was waiting for the success of a job that did not succeed.
  case skipped(id: JobID, at: Timestamp, because: JobID)
  case retried(Retry)
  case moved(id: JobID, at: Timestamp, place: Place)
  case edited(id: JobID, at: Timestamp, command: Command)
  /// Somebody has seen that it failed.
  case acknowledged(id: JobID, at: Timestamp)
  /// Jobs that are over, and are not to be known any more.
  case forgotten(ids: [ClosedRange<JobID>], at: Timestamp)
  /// No job is started until ``resumed(at:)``; `because` of this job's failure, if not of a person.
  case paused(at: Timestamp, because: JobID?)
  case resumed(at: Timestamp)
  case set(Setting, at: Timestamp)
  /// The command that was to be run when the job had ended did not succeed.
  case hookFailed(id: JobID, at: Timestamp, how: Ending)
  /// The first line of a journal that was written anew; holds the next free id if nothing else
  /// does.
  case compacted(at: Timestamp)
  /// The job whose turn was last, in a journal that was written anew: it may have been forgotten.
  case previous(id: JobID, succeeded: Bool)
}

extension Event {
  /// The job that it speaks of.
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

/// An event as a line of the journal has it.
package struct Record: Equatable, Sendable {
  var event: Event
  /// The next free id after this event.
  var next: JobID
  /// How many lines of the same batch are still to come.
  var more: Int
  /// Whether the queue is paused after this event: so the last line alone tells it to `add`.
  var isPaused = false
}
