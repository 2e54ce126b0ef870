import SerialqQueue
import SerialqSystem

extension Session {
  /// `serialq retry`: adds finished jobs to the queue again.
  mutating func retry(_ call: Invocation.Retry) throws(Failure) {
    let (jobs, isPaused) = try change(call.queue) {
      (queue, folder) throws(Failure) -> ([Event], ([Job], Bool)) in
      let jobs =
        call.ids.isEmpty ? queue.openFailuresAndSkipped : try queue.jobs(call.ids, in: call.queue)
      if let job = jobs.first(where: { !$0.state.isOver }) {
        let option = QueueName.option(for: call.queue)
        let (state, next) =
          job.state == .waiting
          ? ("it waits already", "To have it run next: serialq move\(option) \(job.id) --first")
          : ("it is running", "Wait for its end: serialq wait\(option) \(job.id)")
        throw Failure("job \(job.id)", state, next: "Nothing was queued again. \(next)")
      }
      return (Queue.retryEvents(jobs, first: call.isFirst, at: Clock.now()), (jobs, queue.isPaused))
    } then: { (folder, queue) throws(Failure) in
      try startRunner(folder, queue)
    }
    if jobs.isEmpty { return tell("serialq: no failure is open") }
    tell("serialq: \(jobs.text) queued again")
    if isPaused { tellPaused(call.queue) }
  }

  /// Explains that the queue is paused, and how to resume it.
  func tellPaused(_ queue: String) {
    output.message(
      """
      serialq: queue \(queue) is paused, so nothing is started
      Go on with: serialq resume\(QueueName.option(for: queue))
      """)
  }
}

extension Queue {
  /// The unacknowledged failures and the jobs skipped because of them, by id.
  var openFailuresAndSkipped: [Job] {
    guard openFailureCount > 0 else { return [] }
    return jobs.filter { job in
      if job.isOpenFailure { return true }
      guard job.state == .skipped, let because = job.run?.because else { return false }
      return self.job(because)?.isOpenFailure == true
    }
  }

  /// The events that retry jobs in this order.
  ///
  /// A skipped job depends on the previous job again only if that is retried too: a retry of the
  /// skipped job alone is unconditional.
  static func retryEvents(_ jobs: [Job], first: Bool, at now: Timestamp) -> [Event] {
    jobs.enumerated().map { index, job in
      var place = Place.last
      if first { place = index == 0 ? .first : .after(jobs[index - 1].id) }
      return .retried(
        Retry(
          id: job.id, at: now, attempts: job.run?.attempt ?? 0, place: place,
          isFree: index == 0 || job.state != .skipped))
    }
  }
}
