import SerialqSystem

// The changes from one state of a job to the next: nil if a change does not apply. Nothing else
// changes a state.
extension JobStatus {
  /// The same with another phase.
  private func with(_ phase: Phase) -> JobStatus {
    var status = self
    status.phase = phase
    return status
  }

  private func whileWaiting(_ change: (inout Waiting) -> Void) -> JobStatus? {
    guard case .waiting(var waiting) = phase else { return nil }
    change(&waiting)
    return with(.waiting(waiting))
  }

  private func whileRunning(_ change: (inout Running) -> Void) -> JobStatus? {
    guard case .running(var running) = phase else { return nil }
    change(&running)
    return with(.running(running))
  }

  private func whenOver(_ change: (inout Over) -> Void) -> JobStatus? {
    guard case .over(var over) = phase else { return nil }
    change(&over)
    return with(.over(over))
  }
}

// MARK: - Waiting

extension JobStatus {
  package func moved(to rank: Rank) -> JobStatus? { whileWaiting { $0.rank = rank } }

  /// With or without regard to the results of other jobs.
  func freed(_ isFree: Bool) -> JobStatus? { whileWaiting { $0.isFree = isFree } }

  /// A runner could not start the job for want of this; it tries again.
  package func postponed(for missing: Bytes, at now: Timestamp) -> JobStatus? {
    whileWaiting {
      $0.missing = missing
      $0.missingSince = $0.missingSince ?? now
    }
  }

  /// Flush it before the process is started.
  package func started(
    at clocks: ClockReading, hasTerminal: Bool, launch: Launch? = nil
  ) -> JobStatus? {
    guard case .waiting = phase else { return nil }
    let execution = Execution(started: clocks.date, hasTerminal: hasTerminal, launch: launch)
    var status = with(
      .running(Running(execution: execution, boot: clocks.boot, uptime: clocks.monotonic)))
    status.attempts += 1
    return status
  }

  /// Ends a job that waits: `outcome` is that it was cancelled or skipped.
  package func left(_ outcome: Outcome, at: Timestamp) -> JobStatus? {
    guard case .waiting(let waiting) = phase else { return nil }
    let execution = Execution(hasTerminal: waiting.hadTerminal)
    return with(.over(Over(outcome: outcome, at: at, execution: execution)))
  }
}

// MARK: - Running

extension JobStatus {
  package func spawned(_ pid: Int32) -> JobStatus? { whileRunning { $0.pid = pid } }

  /// Requests that the runner terminate the job, with this signal first; SIGCONT follows it.
  package func requested(_ signal: Int32, at clocks: ClockReading) -> JobStatus? {
    let status = continued(at: clocks) ?? self
    return status.whileRunning { $0.requests.append(signal) }
  }

  /// Requests that the runner stop the job's processes.
  package func suspended(at clocks: ClockReading) -> JobStatus? {
    // A job that is being ended must use its grace period.
    guard case .running(let running) = phase, running.suspension.since == nil,
      running.requests.isEmpty
    else { return nil }
    return whileRunning {
      $0.suspension.since = clocks.date
      $0.suspension.uptime = clocks.monotonic
    }
  }

  /// Requests that the runner continue the job.
  package func continued(at clocks: ClockReading) -> JobStatus? {
    guard case .running(let running) = phase, running.suspension.since != nil else { return nil }
    return whileRunning {
      $0.suspension = Suspension(earlier: $0.suspension.total(at: clocks.monotonic))
      // These could not be suspended.
      $0.execution.left = nil
    }
  }

  /// The running job seems to ask this; nil if it no longer does.
  package func asked(_ question: Question?) -> JobStatus? {
    guard case .running(let running) = phase, running.question != question else { return nil }
    return whileRunning { $0.question = question }
  }

  /// The launcher of the running job has reported this.
  func reported(_ launch: Launch) -> JobStatus? { whileRunning { $0.execution.launch = launch } }

  /// Processes of the running job cannot be signaled.
  package func left(_ processes: Bytes) -> JobStatus? {
    whileRunning { $0.execution.left = processes }
  }

  /// `launch` is what the launcher of the attempt reported.
  package func ended(
    _ outcome: Outcome, at: Timestamp, launch: Launch? = nil
  ) -> JobStatus? {
    guard case .running(let running) = phase else { return nil }
    var execution = running.execution
    if let launch { execution.launch = launch }
    return with(.over(Over(outcome: outcome, at: at, execution: execution)))
  }
}

// MARK: - Running or over

extension JobStatus {
  /// Output could not be written to the log; known late, because the end does not depend on the
  /// log.
  package func unlogged(_ reason: Bytes) -> JobStatus? {
    whileRunning { $0.execution.unlogged = reason }
      ?? whenOver { $0.execution.unlogged = reason }
  }

  package func hookFailed(_ how: Ending) -> JobStatus? { whenOver { $0.hookFailure = how } }

  package func acknowledged() -> JobStatus? {
    guard state.opens else { return nil }
    return whenOver { $0.isAcknowledged = true }
  }

  /// Queues a finished job again.
  func retried(
    _ rank: Rank, due: ClockReading? = nil, isFree: Bool, isAutomatic: Bool = false
  ) -> JobStatus? {
    guard case .over(let over) = phase else { return nil }
    var status = with(
      .waiting(
        Waiting(
          rank: rank, due: due, isFree: isFree,
          hadTerminal: over.execution.hasTerminal)))
    status.retriesUsed = isAutomatic ? retriesUsed + 1 : 0
    status.isAgain = isAgain || !isAutomatic
    return status
  }
}
