/// The state of a job and its transitions.
package enum JobState: UInt8, CaseIterable, Sendable {
  /// → running, cancelled, skipped. If an earlier line was damaged: also the states that follow
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

extension JobState {
  /// Whether the state is final: nothing changes it without a command.
  package var isOver: Bool { self != .waiting && self != .running }

  /// Whether the state counts as a failure.
  ///
  /// A cancelled job does not count, because the user requested it. A skipped job does not count
  /// either: it used no attempt, and the failure belongs to the job that caused it.
  package var isFailure: Bool {
    switch self {
    case .failed, .killed, .timedOut, .interrupted: true
    case .waiting, .running, .succeeded, .cancelled, .skipped: false
    }
  }

  /// Whether a job in this state is open until it is acknowledged, retried or removed: a failure,
  /// or a skipped job, whose work was not done either.
  package var opens: Bool { isFailure || self == .skipped }

  package var name: StaticString {
    switch self {
    case .waiting: "waiting"
    case .running: "running"
    case .succeeded: "succeeded"
    case .failed: "failed"
    case .killed: "killed"
    case .timedOut: "timed-out"
    case .interrupted: "interrupted"
    case .cancelled: "cancelled"
    case .skipped: "skipped"
    }
  }
}

extension Ending {
  /// The state of a job that ended this way.
  package func state(because cause: EndCause) -> JobState {
    switch (cause, self) {
    case (.cancelled, _): .cancelled
    case (.timedOut, _): .timedOut
    case (.itself, .exited(0)): .succeeded
    case (.itself, .exited), (.itself, .cannotRun): .failed
    case (.itself, .killed): .killed
    }
  }
}
