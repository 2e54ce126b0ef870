import SerialqSystem

extension Queue {
  /// Calls `body` with the fewest events that produce this queue.
  ///
  /// One at a time: an array of them could be as large as the queue.
  func forEachMinimalEvent(
    _ body: (Event) throws(Failure) -> Void
  ) throws(Failure) {
    let now = Clock.now()
    try body(.compacted(at: now))
    // Every line records that the queue is paused; only this event records why.
    if let pause { try body(.paused(at: pause.at ?? now, because: pause.because)) }
    for setting in settings.changes { try body(.set(setting, at: now)) }
    for job in jobs {
      try body(job.addedEvent)
      if job.state == .running { continue }
      for event in job.events { try body(event) }
    }
    // Last, because their order must be that of the starts.
    for event in running.compactMap(job).flatMap(\.events) { try body(event) }
    try forEachMove(body)
    // After the jobs, whose ends are counted again.
    if settings.onIdle != nil { try body(.counted(results, at: now)) }
    if let idleHookFailure { try body(.hookFailed(id: nil, at: now, how: idleHookFailure)) }
    if let previous { try body(.previous(id: previous.id, succeeded: previous.succeeded)) }
  }

  /// Restores the order of jobs that were moved; all others wait in the order of their ids.
  ///
  /// Places each moved job before its successor, the last one first, so that the successor is
  /// already in place.
  private func forEachMove(
    _ body: (Event) throws(Failure) -> Void
  ) throws(Failure) {
    let waiting = waiting.map { (id: $0.id, isPlaced: $0.isPlaced, added: $0.added) }
    for (index, job) in waiting.enumerated().reversed() where job.isPlaced {
      let place = index + 1 < waiting.count ? Place.before(waiting[index + 1].id) : .last
      try body(.moved(id: job.id, at: job.added, place: place))
    }
  }
}

extension Queue.Settings {
  /// The settings that differ from the defaults.
  fileprivate var changes: [Setting] {
    var changes: [Setting] = []
    if stopsOnFailure { changes.append(.stopsOnFailure(true)) }
    if let onFinish { changes.append(.onFinish(onFinish)) }
    if let onIdle { changes.append(.onIdle(onIdle)) }
    if let onAsk { changes.append(.onAsk(onAsk)) }
    if let keep { changes.append(.keep(keep)) }
    if let shell { changes.append(.shell(shell)) }
    if let logLimit { changes.append(.logLimit(logLimit)) }
    if terminal { changes.append(.terminal(true)) }
    if let launcher { changes.append(.launcher(launcher)) }
    return changes
  }
}

extension Job {
  fileprivate var addedEvent: Event {
    .added(NewJob(id: id, payload, limits: limits, at: added))
  }

  /// The events of a job after it was added.
  fileprivate var events: [Event] {
    guard let run else { return [] }
    var events = retryEvents(run) + startEvents(run) + endEvents(run)
    if isAcknowledged { events.append(.acknowledged(id: id, at: run.ended ?? added)) }
    if let reason = run.unlogged { events.append(.unlogged(id: id, reason: reason)) }
    if let hook = run.hook { events.append(.hookFailed(id: id, at: run.ended ?? added, how: hook)) }
    return events
  }

  /// The attempts before the last one, which has its own events.
  private func retryEvents(_ run: Run) -> [Event] {
    let hasRun =
      switch state {
      case .waiting, .skipped: false
      case .cancelled: run.how != nil || run.started != nil
      default: true
      }
    let attempts = hasRun ? run.attempt - 1 : run.attempt
    // That of the start takes precedence.
    let hasTerminal = run.hasTerminal && run.started == nil
    guard attempts > 0 || run.used > 0 || state == .waiting || hasTerminal else { return [] }
    return [
      .retried(
        Retry(
          id: id, at: added, attempts: attempts, used: run.used, due: run.due, isFree: run.isFree,
          hasTerminal: hasTerminal))
    ]
  }

  private func startEvents(_ run: Run) -> [Event] {
    var events: [Event] = []
    if let started = run.started, let boot = run.boot {
      events.append(
        .started(
          id: id, attempt: run.attempt, at: started, boot: boot, uptime: run.uptime,
          hasTerminal: run.hasTerminal))
    }
    if let launch = run.launch { events.append(.launched(id: id, launch)) }
    if let pid = run.pid { events.append(.spawned(id: id, pid: pid)) }
    let asked = run.started ?? added
    let earlier = run.suspension.earlier
    // Of a job whose start was lost, nothing else may be left to show that it runs.
    let isProven =
      run.started != nil || run.pid != nil || run.suspension.since != nil || run.left != nil
      || !run.requests.isEmpty || run.launch != nil
    if earlier > 0 || (state == .running && !isProven) {
      events.append(.suspended(id: id, at: asked, uptime: 0))
      events.append(.continued(id: id, at: asked, uptime: earlier))
    }
    if let since = run.suspension.since {
      events.append(.suspended(id: id, at: since, uptime: run.suspension.uptime))
    }
    events += run.requests.map { .cancelling(id: id, at: asked, signal: $0) }
    if let left = run.left { events.append(.left(id: id, processes: left)) }
    if let question = run.question {
      events.append(.asked(id: id, at: asked, question: question))
    }
    return events
  }

  private func endEvents(_ run: Run) -> [Event] {
    guard let ended = run.ended else { return [] }
    if let because = run.because { return [.skipped(id: id, at: ended, because: because)] }
    guard let duration = run.duration, let how = run.how else {
      return state == .interrupted
        ? [.interrupted(id: id, at: ended, stopped: run.isRunnerStopped)]
        : [.cancelled(id: id, at: ended)]
    }
    let cause: EndCause =
      switch state {
      case .cancelled: .cancelled
      case .timedOut: .timedOut
      default: .itself
      }
    return [.ended(id: id, at: ended, duration: duration, how: how, cause: cause)]
  }
}
