import SerialqQueue
import SerialqSystem

extension Session {
  /// `serialq ack`: acknowledges failures.
  mutating func ack(_ call: Invocation.Ack) throws(Failure) {
    let jobs = try change(call.queue) { (queue, folder) throws(Failure) -> ([Event], [Job]) in
      let jobs = call.ids.isEmpty ? queue.openFailures : try queue.jobs(call.ids, in: call.queue)
      if let job = jobs.first(where: { !$0.state.isFailure }) {
        throw Failure(
          "job \(job.id)", "it is not a failure: it \(job.outcomeText)",
          next: """
            Nothing was acknowledged. See what failed: serialq \
            list\(QueueName.option(for: call.queue)) --failed
            """)
      }
      let open = jobs.filter(\.isOpenFailure)
      return (open.map { .acknowledged(id: $0.id, at: Clock.now()) }, open)
    }
    tell(jobs.isEmpty ? "serialq: no failure is open" : "serialq: acknowledged \(jobs.text)")
  }
}
