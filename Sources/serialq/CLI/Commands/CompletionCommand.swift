import SerialqQueue
import SerialqSystem
import SerialqWatch

/// `serialq completion`: prints a completion script, or what such a script calls for.
enum CompletionCommand: Equatable {
  case script(CompletionScript)
  /// The completions of the last of these words.
  case words([Bytes])
}

extension CompletionCommand: Subcommand {
  static let usesQueue = false

  static let spec = CommandSpec(
    name: .completion,
    summary: "print a completion script for bash, zsh or fish",
    synopsis: ["completion bash|zsh|fish", "completion -- words [WORD...]"],
    description: [
      """
      The script completes commands, options, queues, and job ids with their commands, or labels. \
      Scripts/install installs it where the shells find it. Documentation/Internals.md describes the second form.
      """
    ],
    options: [],
    operands: .completion,
    examples: [
      Example(#"eval "$(serialq completion bash)""#, "in ~/.bashrc"),
      Example("serialq completion fish | source", "in config.fish"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    let names = CompletionScript.allCases.map(\.rawValue)
    guard let name = words.operands.first else {
      throw words.misused("completion", "give one of \(names.joined(separator: ", "))")
    }
    if name == CompletionScript.wordsName {
      self = .words(Array(words.operands.dropFirst()))
      return
    }
    guard let script = CompletionScript(rawValue: name.text) else {
      throw words.misused(Visible.text(name), "not one of \(names.joined(separator: ", "))")
    }
    try words.refuseOperands(after: 1)
    self = .script(script)
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    switch self {
    case .script(let script): session.output.result(script.text)
    case .words(let words): complete(words, in: &session)
    }
    return .success
  }

  /// Prints completions of the last word, for the shell scripts.
  ///
  /// Never fails and never prints a message, which would appear within the command line being
  /// edited.
  private func complete(_ words: [Bytes], in session: inout Session) {
    let isElsewhere = Machine.variable("SERIALQ_HOST")?.isEmpty == false
    let completion = Completion(words, isElsewhere: isElsewhere)
    switch completion.wanted {
    case .files: session.output.result("files \(completion.kept.count)\n")
    case .directories: session.output.result("directories \(completion.kept.count)\n")
    case .command(let number): session.output.result("command \(number)\n")
    case .words(let candidates): offer(candidates, after: completion.kept, in: &session)
    case .queues:
      let names = (try? session.spool().queueNames()) ?? []
      offer(names.map { .init(word: $0) }, after: completion.kept, in: &session)
    case .jobs(let command):
      let given = completion.queue ?? Machine.variable("SERIALQ_QUEUE")
      let typed = (words.last ?? []).dropFirst(completion.kept.count)
      let jobs = jobs(of: QueueName.unnamed(variable: given), in: session).filter {
        command.type.takes($0)
      }
      // Not beside all ids, which show the labels.
      let labels =
        completion.kept.isEmpty && !typed.isEmpty
        ? Completion.labels(jobs, startingWith: typed) : []
      let candidates = Completion.candidates(jobs.filter { "\($0.id)".utf8.starts(with: typed) })
      offer(candidates + labels, after: completion.kept, in: &session)
    }
  }

  private func offer(
    _ candidates: [Completion.Candidate], after kept: Bytes, in session: inout Session
  ) {
    session.output.result("words\n")
    for candidate in candidates {
      let meaning = candidate.meaning.isEmpty ? "" : "\t\(candidate.meaning)"
      session.output.result("\(kept.text)\(candidate.word)\(meaning)\n")
    }
  }

  /// The jobs read before any error.
  private func jobs(of queue: Bytes, in session: Session) -> [Job] {
    guard let folder = try? session.spool().existingQueue(named: queue.text) else { return [] }
    var reader = JournalReader(folder)
    _ = try? reader.read()
    return reader.queue.inOrder
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
      Candidate(word: "\(job.id)", meaning: job.title(columns: 60))
    }
  }
  /// The labels of jobs that begin with these bytes, each with the latest job that has it.
  ///
  /// Only labels that need no quotes, and that are not taken for an option. Limited as the ids are.
  static func labels(_ jobs: [Job], startingWith typed: Bytes.SubSequence) -> [Candidate] {
    var seen: Set<Bytes> = []
    var found: [Candidate] = []
    for job in jobs.sorted(by: { $0.id > $1.id }) where found.count < 100 {
      guard let label = job.label, label.starts(with: typed), seen.insert(label).inserted,
        label.first != UInt8(ascii: "-"), ShellQuote.word(label) == label.text
      else { continue }
      let command = "job \(job.id): \(job.commandText)".cut(to: 60)
      found.append(Candidate(word: label.text, meaning: command))
    }
    return found
  }
}
