import SerialqSystem

/// A job of a queue.
///
/// Kept small: 100,000 jobs must fit in a runner of 40 MB.
package struct Job: Equatable, Sendable {
  package let id: JobID
  package internal(set) var spec: JobSpec
  /// As `status` has it.
  package private(set) var state = JobState.waiting
  /// Nil for a job that was just added.
  private var box: Box?

  init(_ id: JobID, _ spec: JobSpec) {
    self.id = id
    self.spec = spec
  }

  /// A class, so that one property is read without a copy of all.
  private final class Box: Equatable, Sendable {
    let status: JobStatus

    init(_ status: JobStatus) { self.status = status }

    static func == (one: Box, other: Box) -> Bool { one.status == other.status }
  }

  /// How the job is now.
  package internal(set) var status: JobStatus {
    get { box?.status ?? JobStatus() }
    set {
      box = newValue == JobStatus() ? nil : Box(newValue)
      state = newValue.state
    }
  }

  package var attempts: Int { box?.status.attempts ?? 0 }
  package var retriesUsed: Int { box?.status.retriesUsed ?? 0 }
  package var isAgain: Bool { box?.status.isAgain ?? false }

  /// Nil also for a job that was just added: its properties have the default values.
  package var waiting: JobStatus.Waiting? {
    if state == .waiting, case .waiting(let waiting)? = box?.status.phase { waiting } else { nil }
  }

  var rank: Rank {
    if case .waiting(let waiting)? = box?.status.phase, let rank = waiting.rank {
      rank
    } else {
      Rank(id)
    }
  }

  package var running: JobStatus.Running? {
    if state == .running, case .running(let running)? = box?.status.phase { running } else { nil }
  }

  package var over: JobStatus.Over? {
    if state.isOver, case .over(let over)? = box?.status.phase { over } else { nil }
  }
}

extension Job {
  package var command: Command { spec.command }
  package var context: ExecutionContext { spec.context }
  package var added: Timestamp { spec.added }
  package var label: Bytes? { spec.label }
  package var key: Bytes? { spec.key }
  package var input: Input? { spec.input }
  package var terminal: JobTerminal? { spec.terminal }
  package var limits: Limits { spec.limits }

  /// Whether the job had an attempt, and so has a log; also while it waits for another.
  package var hasRun: Bool { attempts > 0 }

  /// Whether the attempt that runs, or was the last, has a terminal.
  package var hadTerminal: Bool { execution?.hasTerminal ?? waiting?.hadTerminal ?? false }

  /// What is known of the attempt that runs, or was the last.
  package var execution: Execution? { running?.execution ?? over?.execution }

  /// When the attempt started; nil if the job waits, or if that is unknown.
  package var started: Timestamp? { execution?.started }

  /// When the job ended, was found interrupted, or was cancelled.
  package var ended: Timestamp? { over?.at }

  /// When the job reached a final state, or the best known estimate.
  package var overSince: Timestamp { ended ?? added }

  /// How the job ended; nil if that was not observed.
  package var ending: Ending? {
    state.isOver ? status.ending : nil
  }

  /// Nanoseconds without the wait in an engine; nil if the end was not observed.
  package var duration: Int64? {
    if case .ended(_, _, let whole)? = over?.outcome { max(0, whole - engineWait) } else { nil }
  }

  /// Nanoseconds from the start of the launcher to the start of the job; 0 if unknown.
  ///
  /// Not longer than the attempt: the clock of the launcher may be another one.
  package var engineWait: Int64 {
    guard let started, let begun = execution?.launch?.started else { return 0 }
    return min(begun, ended ?? Clock.now()).nanoseconds(since: started)
  }

  /// The job because of which this one was skipped.
  package var skippedBecause: JobID? {
    if case .skipped(let id)? = over?.outcome { id } else { nil }
  }

  package var isAcknowledged: Bool { state.opens && over?.isAcknowledged == true }

  /// Whether the job failed or was skipped, and is not acknowledged.
  package var isOpen: Bool { state.opens && !isAcknowledged }

  /// Whether the cancellation of the running job was requested.
  package var isCancelRequested: Bool { running?.requests.isEmpty == false }

  /// When the running job was suspended; nil if it is not.
  package var suspendedSince: Timestamp? { running?.suspension.since }

  /// Whether the job is skipped unless the one with the turn before succeeded.
  var needsPrevious: Bool { limits.ifOK && waiting?.isFree != true }

  /// The jobs without whose success this one is skipped.
  var requirements: [ClosedRange<JobID>] { waiting?.isFree == true ? [] : limits.after }

  /// Nanoseconds until the next attempt may start.
  package func delay(_ now: ClockReading) -> Int64 {
    guard let due = waiting?.due else { return 0 }
    if due.boot == now.boot { return max(0, due.monotonic - now.monotonic) }
    // After a reboot. If the clock was set back, the delay is not longer than was asked for.
    return min(due.date.nanoseconds(since: now.date), Int64(limits.retryDelay) * 1_000_000_000)
  }

  /// Nanoseconds for which the attempt has been running, without suspensions; nil if unknown.
  package func running(_ now: ClockReading) -> Int64? {
    sinceStart(now).map { max(0, $0 - (running?.suspension.total(at: now.monotonic) ?? 0)) }
  }

  /// Nanoseconds since the attempt started; nil if unknown.
  ///
  /// Uses the monotonic clock if the machine has not rebooted since: after a change of the date,
  /// the job would seem to have used up its timeout, or to have just started.
  package func sinceStart(_ now: ClockReading) -> Int64? {
    guard let started else { return nil }
    if let running, !running.boot.isEmpty, running.boot == now.boot, running.uptime <= now.monotonic
    {
      return now.monotonic - running.uptime
    }
    return now.date.nanoseconds(since: started)
  }

  /// Nil unless the job exited or could not be started.
  package var exitCode: Int? { ending?.exitCode }

  package var signalName: Bytes? { ending?.signalName }

  /// What the running job asks on its terminal; a suspended one would not take the answer.
  package var question: Question? { suspendedSince == nil ? running?.question : nil }

  /// Whether the last attempt had a terminal; before the first, whether the job was added with one.
  package var hasTerminal: Bool { hasRun ? hadTerminal : terminal != nil }

  /// The duration of the attempt without suspensions and the wait in an engine, so far if it is
  /// running.
  package var elapsed: Duration? {
    if let duration { return .nanoseconds(duration) }
    guard state == .running else { return nil }
    return running(Clock.reading()).map { .nanoseconds(max(0, $0 - engineWait)) }
  }

  /// Whether the job has conditions, and runs whatever the results of other jobs are.
  package var ignoresConditions: Bool {
    waiting?.isFree == true && (limits.ifOK || !limits.after.isEmpty)
  }
}
