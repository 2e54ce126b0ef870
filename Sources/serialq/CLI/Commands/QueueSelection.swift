import SerialqQueue
import SerialqSystem

/// The queues that a command applies to: one, or all with `--all`.
enum QueueSelection: Equatable {
  case one(String)
  case all

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    try words.refuseOperands()
    if words.has(.all), words.has(.queue) {
      throw words.misused("--all", "cannot be combined with --queue")
    }
    self = words.has(.all) ? .all : .one(queue)
  }

  /// The options that select the queues.
  static let options: [OptionSpec] = [.queue, OptionSpec(.all, help: "All queues.")]
}

extension Session {
  /// Processes every selected queue, even after one has failed.
  func forEach(
    in queues: QueueSelection, _ work: (Bytes) throws(Failure) -> Void
  ) throws(Failure) {
    var failures: [Failure] = []
    for name in try names(of: queues) {
      do throws(Failure) {
        try work(name)
      } catch {
        failures.append(error)
      }
    }
    guard let last = failures.popLast() else { return }
    for failure in failures { output.message(failure.description) }
    throw last
  }

  private func names(of queues: QueueSelection) throws(Failure) -> [Bytes] {
    switch queues {
    case .one(let name): [Bytes(name.utf8)]
    case .all: try spool().queueNames()
    }
  }
}
