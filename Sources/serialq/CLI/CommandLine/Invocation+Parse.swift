import SerialqQueue
import SerialqRunner
import SerialqSystem

extension Invocation {
  /// Parses `words`, the arguments after the program's name.
  ///
  /// `queueVariable` is the value of SERIALQ_QUEUE, which an option overrides. Pure: reads no file,
  /// variable or clock.
  static func parse(
    _ words: [Bytes], queueVariable: Bytes? = nil
  ) throws(Failure) -> Invocation {
    if words.count == 2, words[0] == BackgroundRunner.own.word, QueueName.fault(in: words[1]) == nil
    {
      return .backgroundRunner(queue: words[1].text)
    }
    let (command, rest) = try command(words)
    let words = try ParsedArguments(command, rest)
    guard !words.has(.version) else { return .version }
    // Before validation: a request for help must work even if other arguments are invalid.
    guard !words.has(.help) else {
      return .help(rest.startIndex == 0 ? nil : command.name)
    }
    try words.check()
    if command.name == .help { return try help(words) }
    if command.name == .completion { return try completion(words) }
    let queue = try queue(words, queueVariable)
    switch command.name {
    case .add: return .add(try add(words, queue))
    case .run: return .run(try run(words, queue))
    case .list: return .list(try list(words, queue))
    case .status:
      return .status(try status(words, queue))
    case .show: return .show(try show(words, queue))
    case .log: return .log(try log(words, queue))
    case .report:
      try refuseOperands(words)
      return .report(
        Report(queue: queue, page: words.value(.html), last: words.number(.last)))
    case .help: return try help(words)
    case .completion: return try completion(words)
    case .wait, .ack, .cancel, .retry, .move, .edit, .pause, .resume, .clean, .set, .queues:
      guard let change = try change(words, queue) else {
        preconditionFailure("every command has an invocation")
      }
      return change
    }
  }

  /// Splits off the command; options without a command belong to `status`.
  private static func command(
    _ words: [Bytes]
  ) throws(Failure) -> (CommandSpec, ArraySlice<Bytes>) {
    guard let first = words.first, first.first != UInt8(ascii: "-") else {
      return (CommandTable.status, words[...])
    }
    if let command = CommandTable.command(called: first) { return (command, words.dropFirst()) }
    let meant = Suggestion.closest(to: first, among: CommandName.allCases.flatMap(\.words))
    let suggestion = meant.map { "; did you mean \($0)?" } ?? ""
    throw Failure(
      Visible.text(first), "unknown command\(suggestion)",
      next: "See: serialq help"
    )
  }

  private static func queue(_ words: ParsedArguments, _ variable: Bytes?) throws(Failure) -> String
  {
    if let option = words.value(.queue) { return option.text }
    let name = QueueName.unnamed(variable: variable)
    if let fault = QueueName.fault(in: name) {
      throw Failure(
        "SERIALQ_QUEUE=\(Visible.text(name))", fault, next: "Set another name, or unset it."
      )
    }
    return name.text
  }

  private static func list(_ words: ParsedArguments, _ queue: String) throws(Failure) -> List {
    try refuseOperands(words)
    return List(
      queue: queue, states: (words.values[.state] ?? []).map(\.text),
      onlyFailed: words.has(.failed), last: words.number(.last),
      json: words.has(.json)
    )
  }

  private static func status(_ words: ParsedArguments, _ queue: String) throws(Failure) -> Status {
    try refuseOperands(words)
    if words.has(.watch), words.has(.json) {
      throw words.misused("--watch", "cannot be combined with --json")
    }
    return Status(queue: queue, watches: words.has(.watch), json: words.has(.json))
  }

  private static func show(_ words: ParsedArguments, _ queue: String) throws(Failure) -> Show {
    guard let id = try id(words) else {
      throw Failure("show", "no job id is given", next: "serialq list shows the ids.")
    }
    return Show(queue: queue, id: id, showsEnvironment: words.has(.env), json: words.has(.json))
  }

  private static func log(_ words: ParsedArguments, _ queue: String) throws(Failure) -> Log {
    Log(queue: queue, id: try id(words), follows: words.has(.follow))
  }

  private static func help(_ words: ParsedArguments) throws(Failure) -> Invocation {
    let option = words.command.options.first { words.has($0.name) }
    if let option {
      if words.has(.man), words.has(.unit) {
        throw words.misused("--unit", "cannot be combined with --man")
      }
      if option.name == .man {
        try refuseOperands(words)
        return .manual
      }
      try refuseOperands(words, after: 1)
      if let path = words.operands.first, path.first != UInt8(ascii: "/") {
        throw words.misused(Visible.text(path), "not the full path of a program")
      }
      return .systemdUnit(words.operands.first)
    }
    guard let name = words.operands.first else { return .help(nil) }
    try refuseOperands(words, after: 1)
    return .help(try command([name]).0.name)
  }

  private static func completion(_ words: ParsedArguments) throws(Failure) -> Invocation {
    let names = CompletionScript.allCases.map(\.rawValue)
    guard let name = words.operands.first else {
      throw words.misused("completion", "give one of \(names.joined(separator: ", "))")
    }
    if name == CompletionScript.wordsName {
      return .completionWords(Array(words.operands.dropFirst()))
    }
    guard let script = CompletionScript(rawValue: name.text) else {
      throw words.misused(Visible.text(name), "not one of \(names.joined(separator: ", "))")
    }
    try refuseOperands(words, after: 1)
    return .completion(script)
  }

  static func id(_ words: ParsedArguments) throws(Failure) -> Int? {
    guard let word = words.operands.first else { return nil }
    try refuseOperands(words, after: 1)
    guard let id = JobID.parse(word) else {
      throw notAnID(word)
    }
    return id
  }

  static func notAnID(_ word: Bytes) -> Failure {
    Failure(
      Visible.text(word), "not a job id, which is a number above 0",
      next: "serialq list shows the ids.")
  }

  static func refuseOperands(
    _ words: ParsedArguments, after count: Int = 0
  ) throws(Failure) {
    guard let extra = words.operands.dropFirst(count).first else { return }
    let command = words.command.name
    // `serialq -q video add make`
    if command == .status, let meant = CommandTable.command(called: extra) {
      throw Failure(
        Visible.text(extra), "a command comes before its options",
        next: "See: serialq help \(meant.name.rawValue)"
      )
    }
    let limit = count == 0 ? "no argument" : "one argument only"
    throw words.misused(Visible.text(extra), "\(command.rawValue) takes \(limit)")
  }
}
