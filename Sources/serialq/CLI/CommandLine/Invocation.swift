import SerialqQueue
import SerialqRunner
import SerialqSystem

/// A parsed command line.
enum Invocation {
  case command(any Subcommand)
  /// Internal; see ``BackgroundRunner``.
  case backgroundRunner(queue: String)
  /// Internal; see ``KeeperProcess``.
  case terminalKeeper(queue: String, job: JobID)

  /// The words with which serialq starts itself.
  static let internalWords = [BackgroundRunner.own.word, KeeperProcess.word, HostCall.name]

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
    if words.count == 3, words[0] == KeeperProcess.word, QueueName.fault(in: words[1]) == nil,
      let id = JobID.parse(words[2])
    {
      return .terminalKeeper(queue: words[1].text, job: id)
    }
    let (name, rest) = try split(commandFirst(words))
    let type = name.type
    let words = try ParsedArguments(type.spec, rest)
    guard !words.has(.version) else { return .command(HelpCommand(topic: .version)) }
    // Before validation: a request for help must work even if other arguments are invalid.
    guard !words.has(.help) else {
      return .command(HelpCommand(topic: rest.startIndex == 0 ? .overview : .command(name)))
    }
    try words.check()
    let queue = try type.usesQueue ? queue(words, queueVariable) : ""
    return .command(try type.init(parsing: words, queue: queue))
  }

  /// Puts the command before the options that precede it.
  static func commandFirst(_ words: [Bytes]) -> [Bytes] {
    var index = 0
    while index < words.count, words[index].first == UInt8(ascii: "-") {
      guard let (option, value) = StatusCommand.spec.lastOption(in: words[index]) else {
        return words
      }
      index += option.value == nil || value != nil ? 1 : 2
    }
    return index < words.count ? [words[index]] + words[..<index] + words[(index + 1)...] : words
  }

  /// Splits off the command, and suggests the closest name if there is none.
  ///
  /// Options without a command belong to `status`.
  static func split(
    _ words: [Bytes]
  ) throws(Failure) -> (name: CommandName, rest: ArraySlice<Bytes>) {
    guard let first = words.first else { return (.status, words[...]) }
    if let name = CommandName(called: first) { return (name, words.dropFirst()) }
    let isOption = first.first == UInt8(ascii: "-")
    if let other = CommandTable.otherWords.first(where: { $0.words.contains(first.text) }) {
      throw Failure(
        first.text, "unknown \(isOption ? "option" : "command"); did you mean \(other.meant)?",
        next: "See: \(advised("help")) \(other.command)")
    }
    guard !isOption else { return (.status, words[...]) }
    let names = CommandName.allCases.flatMap(\.names)
    let question = Suggestion.question(about: first, among: names)
    throw Failure(
      first.isEmpty ? "''" : Visible.text(first), "unknown command\(question)",
      next: question.isEmpty
        ? "To queue it as a job: \(advised("add")) ...; see: \(advised("help"))"
        : "See: \(advised("help"))")
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
}
