import SerialqSystem

// What the events do.
extension Queue {
  mutating func add(_ new: NewJob) -> Bool {
    var index = jobs.count
    if let last = jobs.last, new.id <= last.id {
      // Never written like this; a file put together by hand still gives a queue.
      index = Queue.place(of: new.id, in: jobs)
      if jobs[index].id == new.id { return false }
    }
    let isNewest = index == jobs.count
    jobs.insert(Job(new), at: index)
    order.makeRoom(at: index)
    counts[Int(JobState.waiting.rawValue)] += 1
    nextID = max(nextID, new.id + 1)
    // Where it was to go may be lost; the job must not be.
    let isThere = link(index, new.place)
    if !isThere { _ = link(index, .first) }
    jobs[index].isPlaced = !isNewest || new.place != .last
    return true
  }

  mutating func start(_ id: JobID, _ new: Job.Run) -> Bool {
    guard let index = index(of: id) else { return false }
    let run = jobs[index].run
    // A job that ended is started again only by a higher attempt: its retry may have been lost, but
    // an old line must not wake it.
    guard jobs[index].state == .waiting || new.attempt > run?.attempt ?? 0 else { return false }
    enter(index, .running)
    var new = new
    new.used = run?.used ?? 0
    jobs[index].run = new
    return true
  }

  /// Goes on with a job that runs, or whose start was lost: the only ones to which it can happen.
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

  /// A job that waits is over without having run.
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
    // An old line must not wake a job again; one whose end was lost has ended.
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
    if let neighbour = place.neighbour, self.job(neighbour)?.state != .waiting { return false }
    unlink(index)
    _ = link(index, place)
    jobs[index].isPlaced = true
    return true
  }

  private func isSelf(_ place: Place, _ id: JobID) -> Bool { place.neighbour == id }

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

  /// Pauses; the first who did is the one who is remembered.
  package mutating func pause(_ new: Pause) -> Bool {
    // What only the line's mark told gives way to what tells why.
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

  /// Removes those of the jobs that are over; in one pass, however many they are.
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

// What follows from the states.
extension Queue {
  /// Puts a job in a state, and keeps everything that follows from the states true.
  ///
  /// One that enters waiting has to be linked afterwards.
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

  /// Puts a job among those that wait; false when its neighbour does not wait.
  fileprivate mutating func link(_ index: Int, _ place: Place) -> Bool {
    // A hand-made line could name the job itself, and the list would become a ring.
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
