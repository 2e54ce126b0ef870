import SerialqSystem

/// How a job is now: its attempts so far, and what it does.
///
/// Only the functions of `JobStatus+Changes.swift` make another one.
package struct JobStatus: Equatable, Sendable {
  /// The number of attempts, including the one that runs.
  package internal(set) var attempts = 0
  /// The number of automatic retries used.
  package internal(set) var retriesUsed = 0
  /// Whether the job was queued again after its end, by a command.
  package internal(set) var isAgain = false
  package internal(set) var phase = Phase.waiting(Waiting())

  package enum Phase: Equatable, Sendable {
    case waiting(Waiting)
    case running(Running)
    case over(Over)
  }

  /// Of a job that was just added.
  package init() {}

  package struct Waiting: Equatable, Sendable {
    /// Nil if the job has not been moved since it was added behind all others: then its id is its
    /// rank.
    var rank: Rank?
    /// The earliest start, by both clocks: the date may be changed before.
    package internal(set) var due: ClockReading?
    /// Whether the job runs regardless of the results of other jobs.
    package internal(set) var isFree = false
    /// Whether the last attempt had a terminal.
    var hadTerminal = false
    /// What is missing to start the job, so that a runner tries again; as text.
    package internal(set) var missing: Bytes?
    /// When it was missing first.
    package internal(set) var missingSince: Timestamp?
  }

  package struct Running: Equatable, Sendable {
    package internal(set) var execution = Execution()
    /// Distinguishes processes of this boot from earlier ones.
    var boot = Bytes()
    /// The monotonic clock at the start, relative to `boot`.
    var uptime: Int64 = 0
    package internal(set) var pid: Int32?
    /// The termination signals requested so far, the latest last.
    package internal(set) var requests: [Int32] = []
    package internal(set) var suspension = Suspension()
    /// What the job seems to ask on its terminal.
    package internal(set) var question: Question?

    package static let unknown = Running()
  }

  package struct Over: Equatable, Sendable {
    package internal(set) var outcome = Outcome.cancelled
    package internal(set) var at = Timestamp.epoch
    /// Empty if the job has not run since it was added, or queued again.
    package internal(set) var execution = Execution()
    /// How the on-finish command ended, if it failed.
    package internal(set) var hookFailure: Ending?
    package internal(set) var isAcknowledged = false
  }

  package enum Outcome: Equatable, Sendable {
    /// The duration is in nanoseconds of the monotonic clock, without suspensions.
    case ended(Ending, EndCause, duration: Int64)
    /// The job was running when its runner or the machine died.
    ///
    /// `isStopped` is whether the runner was stopped by a signal, and ended the job.
    case interrupted(isStopped: Bool)
    /// A waiting job was cancelled, or a running one was, and its end was not observed.
    case cancelled
    /// The job required the success of this one, which did not succeed.
    case skipped(because: JobID)
  }
}

/// What is known of an attempt, while it runs and afterwards.
package struct Execution: Equatable, Sendable {
  /// Nil if its line was damaged, or the job was queued again since.
  package internal(set) var started: Timestamp?
  /// Whether the attempt has a terminal of its own.
  package internal(set) var hasTerminal = false
  /// The launcher of the attempt, and what it reported; nil without a launcher.
  package internal(set) var launch: Launch?
  /// The processes that could not be ended or suspended with the job, and why; as text.
  package internal(set) var left: Bytes?
  /// Why output is missing in the log, if it is; as text.
  package internal(set) var unlogged: Bytes?
}

/// The times for which a running job was suspended, by the monotonic clock.
package struct Suspension: Equatable, Sendable {
  /// When the job was suspended; nil if it is not.
  package var since: Timestamp?
  /// The monotonic clock at that time.
  var uptime: Int64 = 0
  /// Nanoseconds of the suspensions before.
  package var earlier: Int64 = 0

  /// Nanoseconds of all suspensions until now.
  package func total(at now: Int64) -> Int64 {
    since == nil ? earlier : earlier + max(0, now - uptime)
  }
}

extension JobStatus {
  package var state: JobState {
    switch phase {
    case .waiting: .waiting
    case .running: .running
    case .over(let over): over.outcome.state
    }
  }
}

extension JobStatus {
  /// How the job ended; nil if that was not observed.
  package var ending: Ending? {
    if case .over(let over) = phase, case .ended(let how, _, _) = over.outcome { how } else { nil }
  }
}

extension JobStatus.Outcome {
  package var state: JobState {
    switch self {
    case .ended(let how, let cause, _): how.state(because: cause)
    case .interrupted: .interrupted
    case .cancelled: .cancelled
    case .skipped: .skipped
    }
  }
}

// MARK: - Coding

extension JobStatus {
  fileprivate enum Kind: String {
    case waiting, running, ended, interrupted, cancelled, skipped
  }

  private var kind: Kind {
    switch phase {
    case .waiting: .waiting
    case .running: .running
    case .over(let over):
      switch over.outcome {
      case .ended: .ended
      case .interrupted: .interrupted
      case .cancelled: .cancelled
      case .skipped: .skipped
      }
    }
  }

  mutating func code(_ coder: inout LineCoder) throws(FlatObjectError) {
    var kind = kind
    try coder.word("is", &kind)
    try coder.count("attempts", &attempts)
    try coder.count("retriesUsed", &retriesUsed)
    try coder.flag("again", &isAgain)
    switch kind {
    case .waiting:
      var waiting = if case .waiting(let waiting) = phase { waiting } else { Waiting() }
      try waiting.code(&coder)
      phase = .waiting(waiting)
    case .running:
      var running = if case .running(let running) = phase { running } else { Running() }
      try running.code(&coder)
      phase = .running(running)
    default:
      var over = if case .over(let over) = phase { over } else { Over() }
      try over.code(kind, &coder)
      phase = .over(over)
    }
  }
}

extension JobStatus.Waiting {
  fileprivate mutating func code(_ coder: inout LineCoder) throws(FlatObjectError) {
    try coder.text("rank", &rank, \.text, Rank.init)
    var (date, due) = (due?.date, due ?? ClockReading(date: .epoch, monotonic: 0, boot: []))
    try coder.time("due", &date)
    if let date {
      due.date = date
      try coder.number("dueUptime", &due.monotonic, Clock.valid)
      try coder.bytes("dueBoot", &due.boot)
    }
    self.due = date == nil ? nil : due
    try coder.flag("free", &isFree)
    try coder.flag("hasTerminal", &hadTerminal)
    try coder.bytes("missing", &missing)
    if missing != nil { try coder.time("missingSince", &missingSince) }
  }
}

extension JobStatus.Running {
  fileprivate mutating func code(_ coder: inout LineCoder) throws(FlatObjectError) {
    try coder.time("started", &execution.started)
    try coder.bytes("boot", &boot)
    try coder.number("uptime", &uptime, Clock.valid)
    try coder.number("pid", &pid, 1...Int(Int32.max))
    guard coder.hasMore else { return }
    try execution.code(&coder)
    var signals = requests.isEmpty ? nil : requests.map { Bytes("\($0)".utf8) }
    try coder.list("signals", &signals)
    requests = (signals ?? []).compactMap {
      JobID.parse($0).flatMap { $0 <= Ending.highestSignal ? Int32($0) : nil }
    }
    guard requests.count == signals?.count ?? 0 else { throw .malformed }
    try suspension.code(&coder)
    try Question.code(&question, &coder)
  }
}

extension Suspension {
  fileprivate mutating func code(_ coder: inout LineCoder) throws(FlatObjectError) {
    try coder.time("suspended", &since)
    if since != nil { try coder.number("suspendedUptime", &uptime, Clock.valid) }
    try coder.count("suspendedBefore", &earlier, upTo: Clock.valid.upperBound)
  }
}

extension JobStatus.Over {
  fileprivate mutating func code(
    _ kind: JobStatus.Kind, _ coder: inout LineCoder
  ) throws(FlatObjectError) {
    try outcome.code(kind, &coder)
    try coder.time("at", &at)
    try coder.time("started", &execution.started)
    guard coder.hasMore else { return }
    try coder.flag("acknowledged", &isAcknowledged)
    try execution.code(&coder)
    try Ending.code(
      &hookFailure, ("onFinishExit", "onFinishSignal", "onFinishCannot", "onFinishReason"), &coder)
  }
}

extension JobStatus.Outcome {
  fileprivate mutating func code(
    _ kind: JobStatus.Kind, _ coder: inout LineCoder
  ) throws(FlatObjectError) {
    switch kind {
    case .ended:
      var (ending, cause, duration): (Ending?, EndCause, Int64) = (nil, .itself, 0)
      if case .ended(let how, let why, let nanoseconds) = self {
        (ending, cause, duration) = (how, why, nanoseconds)
      }
      try Ending.code(&ending, ("exit", "signal", "cannot", "reason"), &coder)
      try cause.code(&coder)
      try coder.number("duration", &duration, Clock.valid)
      guard let ending else { throw .malformed }
      self = .ended(ending, cause, duration: duration)
    case .interrupted:
      var isStopped = self == .interrupted(isStopped: true)
      try coder.flag("stopped", &isStopped)
      self = .interrupted(isStopped: isStopped)
    case .skipped:
      var id = if case .skipped(let id) = self { id } else { 0 }
      try coder.id("because", &id)
      self = .skipped(because: id)
    default: self = .cancelled
    }
  }
}

extension Execution {
  /// All but the start.
  fileprivate mutating func code(_ coder: inout LineCoder) throws(FlatObjectError) {
    try coder.flag("hasTerminal", &hasTerminal)
    try Launch.code(&launch, &coder)
    try coder.bytes("left", &left)
    try coder.bytes("unlogged", &unlogged)
  }
}
