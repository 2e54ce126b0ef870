import SerialqQueue
import SerialqSystem

/// The queues that a command applies to: one, or all with `--all`.
enum QueueSelection: Equatable {
  case one(String)
  case all

  /// With `takesJobs`, the operands are jobs of one queue.
  init(
    parsing words: ParsedArguments, queue: String, takesJobs: Bool = false
  ) throws(Failure) {
    if !takesJobs { try words.refuseOperands() }
    if words.has(.all), let word = words.operands.first {
      throw words.misused(Visible.text(word), "a job cannot be combined with --all")
    }
    try words.refuse(.all, with: .queue)
    self = words.has(.all) ? .all : .one(queue)
  }

  func names(in spool: Spool) throws(Failure) -> [String] {
    switch self {
    case .one(let name): [name]
    case .all: try spool.queueNames()
    }
  }

  /// The options that select the queues.
  static let options: [OptionSpec] = [.queue, OptionSpec(.all, help: "All queues.")]
}

extension Session {
  /// Processes every selected queue, even after one has failed.
  func forEach(
    in queues: QueueSelection, _ work: (String) throws(Failure) -> Void
  ) throws(Failure) {
    try fail(by: try faults(in: queues, work))
  }

  /// Processes every selected queue, and returns the failures.
  func faults(
    in queues: QueueSelection, _ work: (String) throws(Failure) -> Void
  ) throws(Failure) -> [Failure] {
    var failures: [Failure] = []
    for name in try queues.names(in: try spool()) {
      do throws(Failure) {
        try work(name)
      } catch {
        failures.append(error)
      }
    }
    return failures
  }

  /// Reports all failures, and fails with the last of them.
  func fail(by failures: [Failure]) throws(Failure) {
    guard let last = failures.last else { return }
    for failure in failures.dropLast() { output.message(failure.description) }
    throw last
  }
}
