import SerialqQueue
import SerialqSystem
import SerialqWatch

/// `serialq clean`: forgets finished jobs and deletes their logs.
struct CleanCommand: Equatable {
  var queue: String
  /// Empty for all that the options select.
  var jobs: JobSelection
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
    synopsis: ["clean [options]", "clean [options] ID..."],
    description: [
      """
      Removes finished jobs, and open ones, which failed or were skipped, only with --failed or \
      --all, or by their ids. Waiting and running jobs stay; their ids are refused. --older-than \
      applies beside each option; --keep counts only the jobs that the others select.
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
    operands: .jobIDs,
    examples: [
      Example("serialq clean", "all but open jobs"),
      Example("serialq clean 3 5-7", "these, also open ones"),
      Example("serialq clean --all --older-than 7d", "all that finished over a week ago"),
    ]
  )

  static func takes(_ job: Job) -> Bool { job.state.isOver }

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    if !words.operands.isEmpty { _ = try words.someJobs(or: [.olderThan, .keep, .failed, .all]) }
    try words.refuse(.all, with: .failed)
    self.init(
      queue: queue, jobs: JobSelection(words.operands), olderThan: words.seconds(.olderThan),
      keep: words.number(.keep), onlyFailed: words.has(.failed), all: words.has(.all))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    guard let folder = try session.spool().existingQueue(named: self.queue) else {
      guard self.jobs.isEmpty else { throw session.noJobs(in: self.queue) }
      session.reportNoJobs(in: self.queue)
      return .success
    }
    let (forgotten, kept, damaged) = try Journal(folder).locked { (scope) throws(Failure) in
      var reader = JournalReader(folder)
      try scope.read(&reader)
      let jobs = try wanted(in: reader.queue)
      let ids = JobID.ranges(of: jobs)
      if !ids.isEmpty { try scope.append([.forgotten(ids)]) }
      // After the jobs were forgotten: a remaining log is harmless.
      // A follower that has not printed a log would not find its job in the compacted journal.
      folder.removeFiles(of: ids, in: reader.queue, keepsUnread: false)
      let damaged: [DamagedLine]
      do throws(Failure) {
        damaged = try scope.compact()
      } catch {
        guard !ids.isEmpty else { throw error }
        throw error.adding(
          """
          The jobs are removed despite this error. To compact the journal, try again: \
          \(advised("clean", in: self.queue))
          """)
      }
      let kept = all || onlyFailed || !self.jobs.isEmpty ? 0 : reader.queue.openCount
      return (jobs.count, kept, damaged)
    }
    session.report(damaged, in: folder)
    session.confirm("serialq: removed \(forgotten) \(forgotten == 1 ? "job" : "jobs")")
    if kept > 0 {
      session.output.message(
        """
        serialq: kept \(kept) open \(kept == 1 ? "job" : "jobs")
        List them: \(advised("list", in: self.queue)) --open; remove them: \
        \(advised("clean", in: self.queue)) --all
        """)
    }
    return .success
  }

  /// The ids of the jobs to remove, ascending.
  private func wanted(in queue: Queue) throws(Failure) -> [JobID] {
    let limit = olderThan.map { Clock.now().microseconds - Int64($0) * 1_000_000 }
    var jobs = queue.jobs.filter { job in
      job.state.isOver && (onlyFailed ? job.state.opens : all || !job.isOpen)
    }
    if !self.jobs.isEmpty { jobs = try queue.jobs(self.jobs, in: self.queue) }
    if let job = jobs.first(where: { !$0.state.isOver }) {
      throw Failure(
        "job \(job.id)", "it has not finished: it \(job.outcomeText)",
        next: """
          Nothing was removed. Cancel it first: \(advised("cancel", in: self.queue)) \(job.id)
          """)
    }
    if let limit { jobs = jobs.filter { $0.overSince.microseconds < limit } }
    return jobs.ids(excludingLatest: keep ?? 0)
  }
}
