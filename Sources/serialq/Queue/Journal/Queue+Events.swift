import SerialqSystem

extension Queue {
  mutating func add(_ new: NewJob) -> Bool {
    var index = jobs.count
    if let last = jobs.last, new.id <= last.id {
      // serialq never writes ids out of order, but a hand-edited file must still produce a queue.
      index = Queue.place(of: new.id, in: jobs)
      if jobs[index].id == new.id { return false }
    }
    let isNewest = index == jobs.count
    jobs.insert(Job(new), at: index)
    order.makeRoom(at: index)
    counts[Int(JobState.waiting.rawValue)] += 1
    nextID = max(nextID, new.id + 1)
    // The job to place it next to may be lost to damage; the job itself must not be.
    let isThere = link(index, new.place)
    if !isThere { _ = link(index, .first) }
    jobs[index].isPlaced = !isNewest || new.place != .last
    return true
  }

  mutating func start(_ id: JobID, _ new: Job.Run) -> Bool {
    guard let index = index(of: id) else { return false }
    let run = jobs[index].run
    // Only a higher attempt restarts a finished job: its retry event may have been lost, but an old
    // line must not restart it.
    guard jobs[index].state == .waiting || new.attempt > run?.attempt ?? 0 else { return false }
    enter(index, .running)
    var new = new
    new.used = run?.used ?? 0
    jobs[index].run = new
    return true
  }

  /// Updates a running job, or one whose start event was lost; ignores events for any other.
  mutating func proceed(
    _ id: JobID, to state: JobState, _ change: (inout Job.Run) -> Void
  ) -> Bool {
    guard let index = index(of: id), !jobs[index].state.isOver else { return false }
    var run = jobs[index].run ?? Job.Run(attempt: 0)
    if jobs[index].state == .waiting { run.attempt += 1 }
    enter(index, state)
    if state.isOver {
      run.pid = nil
      run.uptime = nil
      run.requests = []
      previous = Previous(id: id, succeeded: state == .succeeded)
    }
    run.due = nil
    run.isFree = false
    change(&run)
    jobs[index].run = run
    return true
  }

  mutating func cancel(_ id: JobID, _ at: Timestamp) -> Bool {
    guard let index = index(of: id), !jobs[index].state.isOver else { return false }
    if jobs[index].state == .running {
      return proceed(id, to: .cancelled) { $0.ended = at }
    }
    leave(index, .cancelled) { $0.ended = at }
    return true
  }

  mutating func skip(_ id: JobID, _ at: Timestamp, _ because: JobID) -> Bool {
    ifWaiting(id) { queue, index in
      queue.leave(index, .skipped) { run in
        run.ended = at
        run.because = because
      }
      queue.previous = Previous(id: id, succeeded: false)
    }
  }

  /// Ends a waiting job that did not run.
  mutating func leave(
    _ index: Int, _ state: JobState, _ change: (inout Job.Run) -> Void
  ) {
    let run = jobs[index].run
    enter(index, state)
    var left = Job.Run(attempt: run?.attempt ?? 0, used: run?.used ?? 0)
    change(&left)
    jobs[index].run = left
  }

  mutating func retry(_ retry: Retry) -> Bool {
    guard let index = index(of: retry.id), !isSelf(retry.place, retry.id) else { return false }
    let job = jobs[index]
    // An old line must not restart a job; a job whose end event was lost has ended.
    let isNews =
      job.state == .waiting
      ? retry.attempts > job.run?.attempt ?? 0
      : retry.attempts >= job.run?.attempt ?? 0
    guard isNews || (job.state == .waiting && job.run == nil) else { return false }
    enter(index, .waiting)
    if !link(index, retry.place) { _ = link(index, .last) }
    jobs[index].isPlaced = true
    jobs[index].run = Job.Run(
      attempt: retry.attempts, used: retry.used, due: retry.due, isFree: retry.isFree)
    return true
  }

  mutating func move(_ id: JobID, _ place: Place) -> Bool {
    guard !isSelf(place, id), let index = index(of: id), jobs[index].state == .waiting
    else { return false }
    if let neighbor = place.neighbor, self.job(neighbor)?.state != .waiting { return false }
    unlink(index)
    _ = link(index, place)
    jobs[index].isPlaced = true
    return true
  }

  private func isSelf(_ place: Place, _ id: JobID) -> Bool { place.neighbor == id }

  mutating func ifWaiting(_ id: JobID, _ change: (inout Queue, Int) -> Void) -> Bool {
    guard let index = index(of: id), jobs[index].state == .waiting else { return false }
    change(&self, index)
    return true
  }

  mutating func acknowledge(_ id: JobID) -> Bool {
    guard let index = index(of: id), jobs[index].isOpenFailure else { return false }
    jobs[index].isAcknowledged = true
    acknowledged += 1
    return true
  }

  mutating func failHook(_ id: JobID, _ how: Ending) -> Bool {
    guard let index = index(of: id), var run = jobs[index].run, jobs[index].state.isOver
    else { return false }
    run.hook = how
    jobs[index].run = run
    return true
  }

  /// Pauses the queue; keeps the reason of the first pause.
  package mutating func pause(_ new: Pause) -> Bool {
    // A pause known only from the mark of a line is replaced by an event that has the reason.
    guard pause == nil || (pause?.at == nil && new.at != nil) else { return false }
    pause = new
    return true
  }

  mutating func resume() -> Bool {
    guard isPaused else { return false }
    pause = nil
    return true
  }

  mutating func set(_ setting: Setting) -> Bool {
    switch setting {
    case .stopsOnFailure(let stops): settings.stopsOnFailure = stops
    case .onFinish(let hook): settings.onFinish = hook
    case .keep(let count): settings.keep = count
    }
    return true
  }

  mutating func remember(_ id: JobID, _ succeeded: Bool) -> Bool {
    previous = Previous(id: id, succeeded: succeeded)
    return true
  }

  /// Removes the finished jobs among these, in one pass.
  mutating func forget(_ ids: [ClosedRange<JobID>]) -> Bool {
    var kept = 0
    var ranges = ids.sorted { $0.lowerBound < $1.lowerBound }[...]
    for index in jobs.indices {
      let job = jobs[index]
      while let range = ranges.first, range.upperBound < job.id { ranges.removeFirst() }
      if job.state.isOver, ranges.first?.contains(job.id) == true {
        counts[Int(job.state.rawValue)] -= 1
        if job.isAcknowledged { acknowledged -= 1 }
        continue
      }
      if kept != index {
        jobs[kept] = job
        order.moveLink(from: index, to: kept)
      }
      kept += 1
    }
    let isAny = kept < jobs.count
    jobs.removeSubrange(kept...)
    order.keepRoom(for: kept)
    return isAny
  }
}

// Derived state.
extension Queue {
  /// Sets the state of a job and updates the derived state.
  ///
  /// The caller must link a job that enters waiting.
  fileprivate mutating func enter(_ index: Int, _ state: JobState) {
    let old = jobs[index].state
    if old == .waiting { unlink(index) }
    counts[Int(old.rawValue)] -= 1
    counts[Int(state.rawValue)] += 1
    jobs[index].state = state
    jobs[index].isPlaced = false
    if jobs[index].isAcknowledged {
      jobs[index].isAcknowledged = false
      acknowledged -= 1
    }
    if old == .running, state != .running { running.removeAll { $0 == jobs[index].id } }
    if state == .running, old != .running { running.append(jobs[index].id) }
  }

  /// Links a job into the waiting order; returns false if its neighbor is not waiting.
  fileprivate mutating func link(_ index: Int, _ place: Place) -> Bool {
    // A hand-edited line could name the job itself, which would create a cycle.
    guard !isSelf(place, jobs[index].id) else { return false }
    let (before, after): (JobID, JobID)
    switch place {
    case .last: (before, after) = (order.last, WaitingOrder.none)
    case .first: (before, after) = (WaitingOrder.none, order.first)
    case .before(let next):
      guard let next = self.index(of: next), jobs[next].state == .waiting else { return false }
      (before, after) = (order.before(next), jobs[next].id)
    case .after(let last):
      guard let last = self.index(of: last), jobs[last].state == .waiting else { return false }
      (before, after) = (jobs[last].id, order.after(last))
    }
    let jobs = jobs
    order.insert(jobs[index].id, at: index, between: before, and: after) {
      Queue.index(of: $0, in: jobs)
    }
    return true
  }

  fileprivate mutating func unlink(_ index: Int) {
    let jobs = jobs
    order.remove(at: index) { Queue.index(of: $0, in: jobs) }
  }
}
