import SerialqQueue
import SerialqSystem

// Shared by the commands that add jobs, `add` and `run`, and by `edit`.

/// How to run jobs; what is nil or empty is not given.
struct JobOptions: Equatable {
  var queue: String
  /// For `edit`, empty to remove the label.
  var label: Bytes?
  var directory: Bytes?
  /// A path; `-` copies standard input.
  var input: Bytes?
  /// `NAME=VALUE` in the given order; the last one for a name wins.
  var environment: [Bytes] = []
  var timeout: Int?
  var retries: Int?
  var retryDelay: Int?
  var ifOK = false
  /// The jobs that must succeed first; the queue says which ones they are.
  var after = JobSelection()
  var isFirst = false
  /// Whether to skip jobs that are already waiting.
  var isUnique = false
  /// Whether each job gets a terminal of its own.
  var hasTerminal: Bool?

  /// The limits of a job that had these: only those given change.
  func limits(_ old: Limits = .none) -> Limits {
    var limits = old
    if let timeout { limits.timeout = timeout }
    if let retries { limits.retries = retries }
    if let retryDelay { limits.retryDelay = retryDelay }
    if ifOK { limits.ifOK = true }
    return limits
  }
}

extension JobOptions {
  /// For new jobs, or for one that has options already.
  init(
    parsing words: ParsedArguments, queue: String, forNewJobs isNew: Bool = true
  ) throws(Failure) {
    self.init(
      queue: queue, label: words.value(.name), directory: words.value(.directory),
      input: words.value(.input), environment: words.values(.env),
      timeout: words.seconds(.timeout), retries: words.number(.retries),
      retryDelay: words.seconds(.retryDelay), ifOK: words.has(.ifOK),
      after: JobSelection(words.values(.after)), isFirst: words.has(.first),
      isUnique: words.has(.unique), hasTerminal: words.has(.tty) ? true : nil)
    try words.refuse(.tty, with: .input, why: ": the terminal is the input")
    if isNew, retryDelay ?? 0 > 0, retries == nil {
      throw words.misused("--retry-delay", "it has no effect without --retries")
    }
  }

  static let options: [OptionSpec] = [
    OptionSpec(
      .file, short: "f", value: OptionValue(.file, "FILE"),
      help: "Queues each line of FILE, all or none; - is stdin."
    ),
    .queue,
    OptionSpec(
      .name, short: "n", value: OptionValue(.label, "LABEL"),
      help: "A label that lists show for the job."
    ),
    OptionSpec(
      .directory, short: "C", value: OptionValue(.directory, "DIR"),
      help: "Runs the job in DIR instead of the current one."
    ),
    OptionSpec(
      .input, short: "i", value: OptionValue(.file, "FILE"),
      help: "Standard input from FILE; - keeps a copy of stdin."
    ),
    OptionSpec(
      .tty, short: "t",
      help: "Gives the job a terminal of its own; see attach."
    ),
    OptionSpec(
      .env, short: "e", value: OptionValue(.assignment, "NAME=VALUE"), repeats: true,
      help: "Sets a variable of the job. May be repeated."
    ),
    OptionSpec(
      .shell, short: "c", value: OptionValue(.commandLine, "LINE"),
      help: "The command line to run, of any form."
    ),
    OptionSpec(
      .timeout, value: OptionValue(.duration, "TIME"),
      help: "Ends the job after TIME: 90, 30m, 1h30m, 1.5h or 7d."
    ),
    OptionSpec(
      .retries, value: OptionValue(.countOrNone, "N"),
      help: "Runs the job again if it fails, up to N times."
    ),
    OptionSpec(
      .retryDelay, value: OptionValue(.duration, "TIME"),
      help: "Waits for TIME before each of these attempts."
    ),
    OptionSpec(
      .ifOK,
      help: "Skips the job unless the job before it succeeded."
    ),
    OptionSpec(
      .after, value: OptionValue(.jobIDs, "ID"), repeats: true,
      help: "Skips the job unless these succeeded: 1-3,build."
    ),
    OptionSpec(.first, help: "Puts the job before all waiting jobs."),
    OptionSpec(
      .unique,
      help: "Adds nothing if the same command already waits."
    ),
  ]
}

/// Where the added jobs come from.
enum JobSource: Equatable {
  case command(Command)
  /// A file of command lines; `-` is standard input.
  case file(Bytes)

  /// Returns nil if no command is given.
  static func parse(_ words: ParsedArguments) throws(Failure) -> Self? {
    let file = words.value(.file)
    let line = words.value(.shell)
    if words.value(.input) == Bytes("-") {
      // Each would read a part.
      if file == Bytes("-") {
        throw words.misused("--input -", "cannot be combined with --file -: both read the same")
      }
      if words.has(.unique) {
        throw words.misused("--input -", "cannot be combined with --unique: nothing is compared")
      }
    }
    try words.refuse(.shell, with: .file)
    guard let first = words.operands.first else {
      if words.afterDashes { throw words.misused("--", "no program follows it") }
      return try line.map(Self.shell) ?? file.map { .file($0) }
    }
    if file != nil || line != nil {
      let option = file == nil ? "--shell" : "--file"
      throw words.misused(Visible.text(first), "a command cannot be combined with \(option)")
    }
    if words.operands.count == 1, !words.afterDashes {
      guard !first.allSatisfy(\.isSpace) else { throw words.misused("''", "the command is empty") }
      return try shell(first)
    }
    guard !first.isEmpty else { throw words.misused("''", "a program's name cannot be empty") }
    return .command(.arguments(words.operands))
  }

  /// A command line, as a file can have it.
  private static func shell(_ line: Bytes) throws(Failure) -> Self {
    guard let quote = JobFile.openQuote(in: line) else { return .command(.shell(line)) }
    throw Failure(
      Visible.text(line).cut(to: 60), "a quote (\(quote)) is open at its end",
      next: "Nothing was changed. A program and its arguments need no quotes after --.")
  }
}
