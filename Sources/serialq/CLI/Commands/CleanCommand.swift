import SerialqQueue
import SerialqSystem
import SerialqWatch

/// `serialq clean`: forgets finished jobs and deletes their logs.
struct CleanCommand: Equatable {
  var queue: String
  /// In seconds.
  var olderThan: Int?
  var keep: Int?
  var onlyFailed: Bool
  /// Includes open jobs.
  var all: Bool
}

extension CleanCommand: Subcommand {
  static let spec = CommandSpec(
    name: .clean,
    summary: "remove finished jobs and their logs",
    synopsis: ["clean [options]"],
    description: [
      """
      Removes finished jobs, and open ones, which failed or were skipped, only with --failed or \
      --all. Waiting and running jobs stay. --older-than applies beside each of these; --keep counts \
      only the jobs that the others select.
      """
    ],
    options: [
      .queue,
      OptionSpec(
        .olderThan, value: OptionValue(.duration, "TIME"),
        help: "Only jobs that finished more than TIME ago."
      ),
      OptionSpec(
        .keep, value: OptionValue(.count, "N"),
        help: "All but the N of these jobs that finished last."),
      OptionSpec(.failed, help: "Only jobs that failed or were skipped, including open ones."),
      OptionSpec(.all, help: "Including open jobs."),
    ],
    examples: [
      Example("serialq clean", "all but open jobs"),
      Example("serialq clean --all --older-than 7d", "all that finished over a week ago"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    try words.refuseOperands()
    try words.refuse(.all, with: .failed)
    self.init(
      queue: queue, olderThan: words.seconds(.olderThan), keep: words.number(.keep),
      onlyFailed: words.has(.failed), all: words.has(.all))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    guard let folder = try session.spool().existingQueue(named: Bytes(self.queue.utf8)) else {
      session.reportNoJobs(in: self.queue)
      return .success
    }
    let (forgotten, kept, damaged) = try Journal(folder).locked { (scope) throws(Failure) in
      var reader = JournalReader(folder)
      try scope.read(&reader)
      let jobs = wanted(in: reader.queue)
      let ids = JobID.ranges(of: jobs)
      if !ids.isEmpty { try scope.append([.forgotten(ids)]) }
      // After the jobs were forgotten: a remaining log is harmless.
      folder.removeFiles(of: ids, in: reader.queue)
      let damaged: [DamagedLine]
      do throws(Failure) {
        damaged = try scope.compact()
      } catch {
        guard !ids.isEmpty else { throw error }
        throw error.adding(
          """
          The jobs are removed despite this error. To compact the journal, try again: serialq \
          clean\(QueueName.option(for: self.queue))
          """)
      }
      let kept = all || onlyFailed ? 0 : reader.queue.openCount
      return (jobs.count, kept, damaged)
    }
    session.report(damaged, in: folder)
    let option = QueueName.option(for: self.queue)
    session.confirm("serialq: removed \(forgotten) \(forgotten == 1 ? "job" : "jobs")")
    if kept > 0 {
      session.output.message(
        """
        serialq: kept \(kept) open \(kept == 1 ? "job" : "jobs")
        List them: \(serialq) list\(option) --open; remove them: \(serialq) clean\(option) --all
        """)
    }
    return .success
  }

  private func wanted(in queue: Queue) -> [JobID] {
    let limit = olderThan.map { Clock.now().microseconds - Int64($0) * 1_000_000 }
    var jobs = queue.jobs.filter { job in
      guard job.state.isOver else { return false }
      if onlyFailed { return job.state.opens }
      return all || !job.isOpen
    }
    if let limit { jobs = jobs.filter { $0.overSince.microseconds < limit } }
    return jobs.ids(excludingLatest: keep ?? 0)
  }
}
