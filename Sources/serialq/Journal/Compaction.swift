extension JournalReader {
  /// Whether the journal is mostly history, or holds damaged lines to be put aside.
  func isWorthCompacting(_ queue: Queue) -> Bool {
    let waiting = queue.count(.waiting)
    let needed = waiting + 3 * (queue.jobs.count - waiting)
    // Not for a few lines: it rewrites the whole file.
    return damagedLines > 0 || (lines > 1000 && lines > 2 * needed)
  }
}

extension JournalScope {
  /// Writes the journal anew with the fewest events that give the same queue.
  ///
  /// Damaged lines are put aside in `damaged` first. Environments of forgotten jobs go. On failure
  /// the journal is as it was; a crash leaves either the old one or the new one.
  mutating func compact() throws(Failure) {
    var queue = Queue()
    var reader = JournalReader(journal.folder)
    let news = try reader.read(into: &queue)
    guard reader.lines > 0 else { return }
    try putAside(news.damaged)
    try writeNewJournal(queue)
    forgetFile()
    try Environments(journal.folder).removeAll(except: Set(queue.jobs.map(\.environment)))
  }

  private func putAside(_ damaged: [DamagedLine]) throws(Failure) {
    guard !damaged.isEmpty else { return }
    let folder = journal.folder
    do throws(SystemError) {
      let file = try FileDescriptor.open(folder.damaged, [.append, .create])
      try journal.output.write(file, Bytes(damaged.map { $0.bytes + Bytes("\n") }.joined()))
      try journal.output.flush(file)
      try FileSystem.flush(folder: folder.path)
    } catch {
      throw error.failure("writing \(folder.damaged.text)")
    }
  }

  private func writeNewJournal(_ queue: Queue) throws(Failure) {
    let folder = journal.folder
    do throws(SystemError) {
      let file = try FileDescriptor.open(folder.newJournal, [.readWrite, .create, .truncate])
      var json = JSONWriter(reservingCapacity: 1 << 20)
      try queue.forEachMinimalEvent { (event) throws(SystemError) in
        JournalLine.write(Record(event: event, next: queue.nextID, more: 0), to: &json)
        if json.bytes.count > 1 << 20 {
          try journal.output.write(file, json.bytes)
          json.removeAll()
        }
      }
      try journal.output.write(file, json.bytes)
      try journal.output.flush(file)
      try FileSystem.rename(folder.newJournal, to: folder.journal)
      try FileSystem.flush(folder: folder.path)
    } catch {
      try? FileSystem.remove(folder.newJournal)
      throw error.failure("writing \(folder.newJournal.text)")
    }
  }
}

extension Queue {
  /// Tells the fewest events that give this queue, one by one: a list of them could be as large as
  /// the queue.
  fileprivate func forEachMinimalEvent(
    _ body: (Event) throws(SystemError) -> Void
  ) throws(SystemError) {
    try body(.compacted(at: Clock.now()))
    for job in jobs {
      try body(job.addedEvent)
      if job.state == .running { continue }
      for event in job.startEvents + job.endEvents { try body(event) }
    }
    // Last, because their order is that of their starts.
    for id in running {
      for event in job(id)?.startEvents ?? [] { try body(event) }
    }
  }
}

extension Job {
  fileprivate var addedEvent: Event {
    .added(
      NewJob(
        id: id, command: command, directory: directory, environment: environment, umask: umask,
        label: label, at: added))
  }

  fileprivate var startEvents: [Event] {
    guard let run else { return [] }
    var events: [Event] = []
    if let started = run.started, let boot = run.boot {
      events.append(.started(id: id, attempt: run.attempt, at: started, boot: boot))
    }
    // A job of which nothing else is known must still be known to run.
    if let pid = run.pid { events.append(.spawned(id: id, pid: pid)) }
    return events
  }

  fileprivate var endEvents: [Event] {
    guard let run, let ended = run.ended else { return [] }
    guard let duration = run.duration, let how = run.how else {
      let isInterrupted = state == .interrupted
      return [isInterrupted ? .interrupted(id: id, at: ended) : .cancelled(id: id, at: ended)]
    }
    let isCancelled = state == .cancelled
    return [.ended(id: id, at: ended, duration: duration, how: how, cancelled: isCancelled)]
  }
}
