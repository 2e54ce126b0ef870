import SerialqQueue
import SerialqSystem

extension Session {
  /// `serialq retry`: queues jobs that are over again.
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

  /// Says why nothing happens, and how it would.
  func tellPaused(_ queue: String) {
    output.message(
      """
      serialq: queue \(queue) is paused, so nothing is started
      Go on with: serialq resume\(QueueName.option(for: queue))
      """)
  }
}

extension Queue {
  /// The failures of which nobody has taken note, and what was skipped because of them; by id.
  var openFailuresAndSkipped: [Job] {
    guard openFailureCount > 0 else { return [] }
    return jobs.filter { job in
      if job.isOpenFailure { return true }
      guard job.state == .skipped, let because = job.run?.because else { return false }
      return self.job(because)?.isOpenFailure == true
    }
  }

  /// What it takes to queue jobs again, one after another.
  ///
  /// A job that was skipped goes by the job before it only if that is queued again with it: to ask
  /// for it alone is to ask for it in any case.
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
