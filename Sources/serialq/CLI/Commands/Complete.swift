import SerialqQueue
import SerialqSystem

extension Session {
  /// `serialq completion -- words`: prints completions of the last word, for the shell scripts.
  ///
  /// Never fails and never prints a message, which would appear within the command line being
  /// edited.
  mutating func complete(_ words: [Bytes]) {
    let completion = Completion(words)
    switch completion.wanted {
    case .files: output.result("files \(completion.kept.count)\n")
    case .directories: output.result("directories \(completion.kept.count)\n")
    case .command(let number): output.result("command \(number)\n")
    case .words(let candidates): offer(candidates, after: completion.kept)
    case .queues:
      let names = (try? spool().queueNames()) ?? []
      offer(names.map { .init(word: $0.text) }, after: completion.kept)
    case .jobs(let command, let first):
      let given = completion.queue ?? Machine.variable("SERIALQ_QUEUE")
      let typed = (words.last ?? []).dropFirst(completion.kept.count)
      let jobs = jobs(of: QueueName.unnamed(variable: given)).filter { job in
        job.id >= first && command.takes(job) && "\(job.id)".utf8.starts(with: typed)
      }
      offer(Completion.candidates(jobs), after: completion.kept)
    }
  }

  private mutating func offer(_ candidates: [Completion.Candidate], after kept: Bytes) {
    output.result("words\n")
    for candidate in candidates {
      let meaning = candidate.meaning.isEmpty ? "" : "\t\(candidate.meaning)"
      output.result("\(kept.text)\(candidate.word)\(meaning)\n")
    }
  }

  /// The jobs read before any error.
  private func jobs(of queue: Bytes) -> [Job] {
    var jobs = Queue()
    guard let folder = try? spool().existingQueue(named: queue) else { return [] }
    var reader = JournalReader(folder)
    _ = try? reader.read(into: &jobs)
    return jobs.inOrder
  }
}

extension Completion {
  /// The ids of jobs, with their titles as descriptions.
  ///
  /// Limited to a readable number: the latest jobs that are not waiting, and the next of the
  /// waiting ones. Another digit narrows down the rest.
  static func candidates(_ jobs: [Job]) -> [Candidate] {
    let waiting = jobs.filter { $0.state == .waiting }
    let others = jobs.filter { $0.state != .waiting }
    return (others.suffix(100) + waiting.prefix(100)).map { job in
      let title = StyledLine(job.title).fitted(to: 60).rendered(color: false)
      return Candidate(word: "\(job.id)", meaning: title)
    }
  }
}
