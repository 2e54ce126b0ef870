import SerialqQueue
import SerialqSystem

/// Parses the arguments of `add` and `run`.
extension Invocation {
  static func add(_ words: ParsedArguments, _ queue: String) throws(Failure) -> Add {
    guard let source = try source(words) else {
      throw Failure(
        "add", "no command is given", next: "For example: serialq add 'make && make test'"
      )
    }
    return Add(
      job: jobOptions(words, queue), source: source, startsRunner: !words.has(.noStart),
      json: words.has(.json))
  }

  static func run(_ words: ParsedArguments, _ queue: String) throws(Failure) -> Run {
    let source = try source(words)
    if source == nil {
      for option in words.command.options where option.name != .queue && words.has(option.name) {
        throw words.misused(option.long, "is about a job, and no command is given")
      }
    }
    return Run(job: jobOptions(words, queue), source: source)
  }

  private static func jobOptions(_ words: ParsedArguments, _ queue: String) -> JobOptions {
    JobOptions(
      queue: queue, label: words.value(.name), directory: words.value(.directory),
      environment: words.values[.env] ?? [],
      limits: Limits(
        timeout: words.seconds(.timeout) ?? 0, retries: words.number(.retries) ?? 0,
        retryDelay: words.seconds(.retryDelay) ?? 0, ifOK: words.has(.ifOK)),
      isFirst: words.has(.first), isUnique: words.has(.unique)
    )
  }

  private static func source(_ words: ParsedArguments) throws(Failure) -> JobSource? {
    let file = words.value(.file)
    let line = words.value(.shell)
    if file != nil, line != nil {
      throw words.misused("--shell", "cannot be combined with --file")
    }
    guard let first = words.operands.first else {
      if words.afterDashes { throw words.misused("--", "no program follows it") }
      return line.map { .command(.shell($0)) } ?? file.map { .file($0) }
    }
    if file != nil || line != nil {
      let option = file == nil ? "--shell" : "--file"
      throw words.misused(Visible.text(first), "a command cannot be combined with \(option)")
    }
    if words.operands.count == 1, !words.afterDashes {
      guard !first.allSatisfy(\.isSpace) else { throw words.misused("''", "the command is empty") }
      return .command(.shell(first))
    }
    guard !first.isEmpty else { throw words.misused("''", "a program's name cannot be empty") }
    return .command(.arguments(words.operands))
  }
}
