import SerialqQueue
import SerialqRunner
import SerialqSystem

extension Session {
  /// `serialq cancel`: cancels waiting jobs and terminates running ones.
  mutating func cancel(_ call: Invocation.Cancel) throws(Failure) {
    let signal = call.signal ?? SIGTERM
    let (jobs, running) = try change(call.queue) {
      (queue, folder) throws(Failure) -> ([Event], ([Job], [Job])) in
      let jobs = try wanted(call, in: queue)
      let now = Clock.now()
      let waiting = jobs.filter { $0.state == .waiting }
      let running = jobs.filter { $0.state == .running }
      let events =
        queue.cancelEvents(waiting.map(\.id), at: now)
        + running.map { .cancelling(id: $0.id, at: now, signal: signal) }
      return (events, (jobs, running))
    } then: { (folder, queue) throws(Failure) in
      // Only a runner terminates an orphaned job and records its end.
      if !queue.running.isEmpty { try BackgroundRunner.own.ensure(folder) }
    }
    if jobs.isEmpty { return tell("serialq: nothing to cancel") }
    let waiting = jobs.filter { $0.state == .waiting }
    if !waiting.isEmpty { tell("serialq: cancelled \(waiting.text)") }
    guard let job = running.first else { return }
    let option = QueueName.option(for: call.queue)
    tell(
      """
      serialq: job \(job.id) is being ended with \(SignalName.of(signal))
      Wait for its end: serialq wait\(option) \(job.id)
      """)
  }

  private func wanted(_ call: Invocation.Cancel, in queue: Queue) throws(Failure) -> [Job] {
    let running = queue.running.compactMap(queue.job)
    switch call.jobs {
    case .running: return running
    case .all: return running + queue.waiting
    case .ids(let ids):
      let jobs = try queue.jobs(ids, in: call.queue)
      if let job = jobs.first(where: \.state.isOver) {
        throw Failure(
          "job \(job.id)", "it is over: it \(job.outcomeText)",
          next: """
            Nothing was cancelled. See what still can be: serialq \
            list\(QueueName.option(for: call.queue)) --state waiting
            """)
      }
      return jobs
    }
  }
}
