import SerialqSystem

/// What a queue has once: its settings, and what it remembers.
package struct QueueProperties: Equatable, Sendable {
  package var settings = Settings()
  /// Why and since when the queue is paused; nil if it is not.
  package var pause: Pause?
  /// Counted for the on-idle command, if one is set.
  package internal(set) var results = Results()
  /// How the on-idle command ended last, if it failed.
  package internal(set) var idleHookFailure: Ending?
  /// The job that had the last turn; it may have been forgotten.
  var previous: Previous?

  package init() {}

  /// The settings of the `set` command.
  package struct Settings: Equatable, Sendable {
    package var stopsOnFailure = false
    package var onFinish: Hook?
    package var onIdle: Hook?
    /// Run when a job seems to ask something on its terminal.
    package var onAsk: Hook?
    /// The number of finished jobs to keep; nil for all.
    package var keep: Int?
    /// The shell for command lines; nil for the default.
    package var shell: Bytes?
    /// The most bytes to keep of the log of a finished job; nil for all.
    package var logLimit: Int?
    /// The least limit leaves a few lines at each end.
    package static let logLimits = 1_024...1 << 50
    /// Whether jobs get a terminal.
    package var terminal = false
    /// The command that executes jobs, as a line for the shell; nil for none.
    package var launcher: Bytes?
  }

  package struct Pause: Equatable, Sendable {
    /// Nil if its line was damaged.
    package var at: Timestamp?
    /// The job whose failure paused the queue; nil after a manual pause.
    package var because: JobID?
  }

  /// The job that had the last turn, and whether it succeeded.
  ///
  /// If that job was skipped and is queued again: the one because of which it was skipped.
  struct Previous: Equatable, Sendable {
    var id: JobID
    var succeeded: Bool
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

// MARK: - Changes

extension QueueProperties {
  /// The on-idle command; setting it clears what is remembered of the one before.
  package var onIdle: Hook? {
    get { settings.onIdle }
    set {
      // What ended before does not concern a new command, but a changed one continues to count.
      if settings.onIdle == nil || newValue == nil { results = Results() }
      idleHookFailure = nil
      settings.onIdle = newValue
    }
  }

  /// The on-idle command starts: before it does, so that no other runner runs it again.
  package mutating func startOnIdle() {
    results = Results()
    idleHookFailure = nil
  }

  package mutating func failOnIdle(_ how: Ending) {
    if settings.onIdle != nil { idleHookFailure = how }
  }

  /// Counts the end of a turn, and the return of a job from one.
  mutating func count(_ old: Job, _ new: Job) {
    let hadTurn = old.state == .running || new.attempts > old.attempts
    if new.state.isOver, !old.state.isOver || hadTurn {
      if hadTurn || new.state == .skipped {
        previous = Previous(id: new.id, succeeded: new.state == .succeeded)
      }
      guard settings.onIdle != nil else { return }
      results.count(new.state, 1)
      if hadTurn { results.hasRun = true }
    } else if new.retriesUsed > old.retriesUsed, old.state.isOver, settings.onIdle != nil {
      // The attempt was counted, but is not the result of the job.
      results.count(old.state, -1)
    }
  }
}

// MARK: - Coding

extension QueueProperties {
  mutating func code(_ coder: inout LineCoder) throws(FlatObjectError) {
    try settings.code(&coder)
    var isPaused = pause != nil
    try coder.flag("pause", &isPaused)
    if isPaused {
      var pause = pause ?? Pause()
      try coder.time("pausedAt", &pause.at)
      try coder.id("pausedBecause", &pause.because)
      self.pause = pause
    }
    try results.code(&coder)
    try Ending.code(
      &idleHookFailure, ("onIdleExit", "onIdleSignal", "onIdleCannot", "onIdleReason"), &coder)
    var id = previous?.id
    var succeeded = previous?.succeeded ?? false
    try coder.id("previous", &id)
    try coder.flag("previousSucceeded", &succeeded)
    previous = id.map { Previous(id: $0, succeeded: succeeded) }
  }
}

extension QueueProperties.Settings {
  fileprivate mutating func code(_ coder: inout LineCoder) throws(FlatObjectError) {
    try coder.flag("stopsOnFailure", &stopsOnFailure)
    try Hook.code(
      &onFinish, ("onFinish", "onFinishDirectory", "onFinishEnvironment", "onFinishUmask"), &coder)
    try Hook.code(
      &onIdle, ("onIdle", "onIdleDirectory", "onIdleEnvironment", "onIdleUmask"), &coder)
    try Hook.code(&onAsk, ("onAsk", "onAskDirectory", "onAskEnvironment", "onAskUmask"), &coder)
    try coder.number("keep", &keep, 1...Int(UInt32.max))
    try coder.bytes("jobShell", &shell)
    try coder.number("logLimit", &logLimit, Self.logLimits)
    try coder.flag("jobTerminals", &terminal)
    try coder.bytes("launcher", &launcher)
  }
}

extension Results {
  fileprivate mutating func code(_ coder: inout LineCoder) throws(FlatObjectError) {
    try coder.count("succeeded", &succeeded, upTo: JobID.valid.upperBound)
    try coder.count("failed", &failed, upTo: JobID.valid.upperBound)
    try coder.count("skipped", &skipped, upTo: JobID.valid.upperBound)
    try coder.count("cancelled", &cancelled, upTo: JobID.valid.upperBound)
    try coder.flag("ran", &hasRun)
  }
}
