import SerialqSystem

/// The state of a job and its transitions.
package enum JobState: UInt8, CaseIterable, Sendable {
  /// → running, cancelled, skipped. If an earlier event was damaged: also the states that follow
  /// running.
  case waiting
  /// → succeeded, failed, killed, timedOut, interrupted, cancelled.
  case running
  /// Exited with 0. Final until retried.
  case succeeded
  /// Exited with another code, or could not be started. Final until retried.
  case failed
  /// Terminated by a signal that serialq did not send. Final until retried.
  case killed
  /// Exceeded its timeout and was terminated. Final until retried.
  case timedOut
  /// Its runner died, or the system stopped it. Final until retried.
  case interrupted
  /// Cancelled before or while running. Final until retried.
  case cancelled
  /// Required the success of the previous job, which did not succeed. Final until retried.
  case skipped
}

/// A job of a queue, as reconstructed from the events.
///
/// Kept small: 100,000 jobs must fit in a runner of 40 MB. Rarely used properties are stored
/// separately, in a box.
package struct Job: Equatable, Sendable {
  package let id: JobID
  package internal(set) var state: JobState
  package internal(set) var isAcknowledged = false
  /// Whether the job was moved away from its position by id.
  var isPlaced = false
  package internal(set) var umask: UInt16
  package internal(set) var command: Command
  package internal(set) var directory: Bytes
  /// The key in ``Environments``.
  package internal(set) var environment: Bytes
  package internal(set) var label: Bytes?
  package internal(set) var added: Timestamp
  private var box: Box?

  init(_ new: NewJob) {
    id = new.id
    state = .waiting
    umask = new.umask
    command = new.command
    directory = new.directory
    environment = new.environment
    label = new.label
    added = new.at
    if new.limits != .none { box = Box(nil, new.limits) }
  }

  /// The last attempt; nil if the job never ran.
  package var run: Run? {
    get { box?.run }
    set { box = newValue == nil && limits == .none ? nil : Box(newValue, limits) }
  }

  /// The timeout, retries and conditions of the job.
  package var limits: Limits { box?.limits ?? .none }

  /// Nanoseconds since the attempt started; nil if unknown.
  ///
  /// Uses the monotonic clock if the machine has not rebooted since: after a change of the date,
  /// the job would seem to have used up its timeout, or to have just started.
  package func sinceStart(_ now: ClockReading) -> Int64? {
    guard let run, let started = run.started else { return nil }
    if let uptime = run.uptime, let boot = run.boot, !boot.isEmpty, boot == now.boot,
      uptime <= now.monotonic
    {
      return now.monotonic - uptime
    }
    return max(0, now.date.microseconds - started.microseconds) * 1_000
  }

  /// When the job reached a final state, or the best known estimate.
  package var overSince: Timestamp { run?.ended ?? added }

  package var isOpenFailure: Bool { state.isFailure && !isAcknowledged }

  package struct Run: Equatable, Sendable {
    /// Counts from 1; 0 if the job was cancelled before its first attempt.
    package internal(set) var attempt = 1
    /// The number of automatic retries used.
    package internal(set) var used = 0
    /// Nil if its line was damaged, and while the job waits for its next attempt.
    package internal(set) var started: Timestamp?
    var boot: Bytes?
    /// The monotonic clock at the start, relative to `boot`; set only while the job runs.
    var uptime: Int64?
    /// Set only while the job runs.
    package internal(set) var pid: Int32?
    /// When the job ended, was found interrupted, or was cancelled.
    package internal(set) var ended: Timestamp?
    /// In nanoseconds.
    package internal(set) var duration: Int64?
    /// Nil if the job was interrupted, or cancelled before it ran.
    package internal(set) var how: Ending?
    /// The earliest start of the next attempt; set only while the job waits for it.
    package internal(set) var due: Timestamp?
    /// Whether the next attempt ignores the result of the previous job; set only while the job
    /// waits for it.
    var isFree = false
    /// The termination signals requested so far, the latest last; set only while the job runs.
    package internal(set) var requests: [Int32] = []
    /// The job because of which this one was skipped.
    package internal(set) var because: JobID?
    /// How the on-finish command ended, if it failed.
    package internal(set) var hook: Ending?
  }

  /// Holds rarely used properties outside of the job, which keeps ``Job`` small.
  private final class Box: Equatable, Sendable {
    let run: Run?
    let limits: Limits
    init(_ run: Run?, _ limits: Limits) {
      self.run = run
      self.limits = limits
    }
    static func == (left: Box, right: Box) -> Bool {
      left.run == right.run && left.limits == right.limits
    }
  }
}

extension JobState {
  /// Whether the state is final: nothing changes it without a command.
  package var isOver: Bool { self != .waiting && self != .running }

  /// Whether the state counts as a failure.
  ///
  /// A cancelled job does not count, because the user requested it. A skipped job does not count
  /// either: the failure is that of the job that caused it.
  package var isFailure: Bool {
    switch self {
    case .failed, .killed, .timedOut, .interrupted: true
    case .waiting, .running, .succeeded, .cancelled, .skipped: false
    }
  }
}
