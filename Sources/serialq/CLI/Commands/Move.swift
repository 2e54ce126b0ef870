import SerialqQueue
import SerialqSystem

extension Session {
  /// `serialq move`: reorders waiting jobs.
  mutating func move(_ call: Invocation.Move) throws(Failure) {
    let option = QueueName.option(for: call.queue)
    try change(call.queue) { (queue, folder) throws(Failure) -> ([Event], Void) in
      for id in [call.id] + (call.place.neighbor.map { [$0] } ?? []) {
        let job = try queue.jobs([id...id], in: call.queue)[0]
        guard job.state == .waiting else {
          throw Failure(
            "job \(id)", "it does not wait: it \(job.outcomeText)",
            next: "Nothing was moved. See those that do: serialq list\(option) --state waiting")
        }
      }
      guard call.place.neighbor != call.id else {
        throw Failure(
          "job \(call.id)", "it cannot be put before itself",
          next: "Nothing was moved. See those that wait: serialq list\(option) --state waiting")
      }
      return ([.moved(id: call.id, at: Clock.now(), place: call.place)], ())
    }
    switch call.place {
    case .first: tell("serialq: job \(call.id) is next")
    case .before(let id): tell("serialq: job \(call.id) runs before job \(id)")
    case .last, .after: tell("serialq: job \(call.id) is last")
    }
  }
}
