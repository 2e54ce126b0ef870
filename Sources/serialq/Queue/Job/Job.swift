import SerialqSystem

/// Where a job is on its way.
package enum JobState: UInt8, CaseIterable, Sendable {
  /// → running, cancelled, skipped; and by events that outlived a damaged one, anything that running
  /// leads to.
  case waiting
  /// → succeeded, failed, killed, timedOut, interrupted, cancelled.
  case running
  /// Exited with 0. The end, until it is retried.
  case succeeded
  /// Exited with another code, or could not be run. The end, until it is retried.
  case failed
  /// Ended by a signal that serialq did not send. The end, until it is retried.
  case killed
  /// Took longer than it may, and was ended. The end, until it is retried.
  case timedOut
  /// How it ended is not known, because its runner died. The end, until it is retried.
  case interrupted
  /// Told not to run, or to stop. The end, until it is retried.
  case cancelled
  /// The job before it did not succeed, as it asked for. The end, until it is retried.
  case skipped
}

/// A job of a queue, as the events so far give it.
///
/// Kept small: a hundred thousand of them must fit a runner of 40 MB. What only few jobs have is
/// apart.
package struct Job: Equatable, Sendable {
  package let id: JobID
  package internal(set) var state: JobState
  /// Whether somebody has seen that it failed.
  package internal(set) var isAcknowledged = false
  /// Whether it waits elsewhere than where its id says.
  var isPlaced = false
  package internal(set) var umask: UInt16
  package internal(set) var command: Command
  package internal(set) var directory: Bytes
  /// The key of ``Environments``.
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

  /// What is known of its last attempt; nil when it never ran.
  package var run: Run? {
    get { box?.run }
    set { box = newValue == nil && limits == .none ? nil : Box(newValue, limits) }
  }

  /// How long and how often it may run.
  package var limits: Limits { box?.limits ?? .none }

  /// How long ago its attempt began, in nanoseconds; nil when that is not known.
  ///
  /// By the clock that does not jump, if it has counted since then: the date may have been set
  /// meanwhile, and the job would seem to have used up its time, or to have only begun.
  package func sinceStart(_ now: ClockReading) -> Int64? {
    guard let run, let started = run.started else { return nil }
    if let uptime = run.uptime, let boot = run.boot, !boot.isEmpty, boot == now.boot,
      uptime <= now.monotonic
    {
      return now.monotonic - uptime
    }
    return max(0, now.date.microseconds - started.microseconds) * 1_000
  }

  /// When a job that is over was over, as far as that is known.
  package var overSince: Timestamp { run?.ended ?? added }

  /// Whether it failed and nobody has taken note of it.
  package var isOpenFailure: Bool { state.isFailure && !isAcknowledged }

  /// An attempt at a job.
  package struct Run: Equatable, Sendable {
    /// From 1 on; 0 for one that was cancelled before it ever ran.
    package internal(set) var attempt = 1
    /// How many of its automatic retries are used up.
    package internal(set) var used = 0
    /// Nil when the line that said so was damaged, and while it waits for the next attempt.
    package internal(set) var started: Timestamp?
    var boot: Bytes?
    /// Only while it runs: the monotonic clock at its start, since `boot`.
    var uptime: Int64?
    /// Only while it runs.
    package internal(set) var pid: Int32?
    /// When it ended, or was found interrupted, or was cancelled.
    package internal(set) var ended: Timestamp?
    /// In nanoseconds.
    package internal(set) var duration: Int64?
    /// Nil for one that was interrupted, or cancelled before it ran.
    package internal(set) var how: Ending?
    /// While it waits for the next attempt: not before.
    package internal(set) var due: Timestamp?
    /// While it waits for the next attempt: whether the job before it does not matter.
    var isFree = false
    /// While it runs: the signals with which it was asked to end, the latest last.
    package internal(set) var requests: [Int32] = []
    /// The job for which it was skipped.
    package internal(set) var because: JobID?
    /// How the command went that was run when it had ended, if it failed.
    package internal(set) var hook: Ending?
  }

  /// Keeps what only few jobs have out of all of them.
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
  /// Whether nothing happens to it any more by itself.
  package var isOver: Bool { self != .waiting && self != .running }

  /// Whether it counts as a failure.
  ///
  /// A cancelled job is no failure, because a person wanted it so; nor is a skipped one, because
  /// the job that it was skipped for is the one to look at.
  package var isFailure: Bool {
    switch self {
    case .failed, .killed, .timedOut, .interrupted: true
    case .waiting, .running, .succeeded, .cancelled, .skipped: false
    }
  }
}
