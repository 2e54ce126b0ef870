import SerialqQueue
import SerialqSystem

// Shared by the commands that add jobs: `add` and `run`.

/// How to run the added jobs.
struct JobOptions: Equatable {
  var queue: String
  var label: Bytes?
  var directory: Bytes?
  /// `NAME=VALUE` in the given order; the last one for a name wins.
  var environment: [Bytes]
  var limits = Limits.none
  var isFirst = false
  /// Whether to skip jobs that are already waiting.
  var isUnique = false
}

extension OptionName {
  fileprivate static var file: Self { Self("file") }
  fileprivate static var name: Self { Self("name") }
  fileprivate static var directory: Self { Self("directory") }
  fileprivate static var shell: Self { Self("shell") }
  fileprivate static var retries: Self { Self("retries") }
  fileprivate static var retryDelay: Self { Self("retry-delay") }
  fileprivate static var ifOK: Self { Self("if-ok") }
  fileprivate static var unique: Self { Self("unique") }
}

extension JobOptions {
  init(parsing words: ParsedArguments, queue: String) {
    self.init(
      queue: queue, label: words.value(.name), directory: words.value(.directory),
      environment: words.values[.env] ?? [], isFirst: words.has(.first),
      isUnique: words.has(.unique))
    limits.timeout = words.seconds(.timeout) ?? 0
    limits.retries = words.number(.retries) ?? 0
    limits.retryDelay = words.seconds(.retryDelay) ?? 0
    limits.ifOK = words.has(.ifOK)
  }

  static let options: [OptionSpec] = [
    OptionSpec(
      .file, short: "f", value: OptionValue(.file, "FILE"),
      help: "Queues each line of FILE, all or none; - is stdin.",
      details: """
        Each line is a command line for /bin/sh. Blank lines and lines that start with # are \
        ignored.
        """
    ),
    .queue,
    OptionSpec(
      .name, short: "n", value: OptionValue(.text, "LABEL"),
      help: "A label that lists show for the job."
    ),
    OptionSpec(
      .directory, short: "C", value: OptionValue(.directory, "DIR"),
      help: "Runs the job in DIR instead of the current one."
    ),
    OptionSpec(
      .env, short: "e", value: OptionValue(.assignment, "NAME=VALUE"), repeats: true,
      help: "Sets a variable of the job. May be repeated.",
      details: """
        While add runs, every user can see the value with ps(1). Pass secrets in the environment of \
        the call, which the job receives too.
        """
    ),
    OptionSpec(
      .shell, short: "c", value: OptionValue(.commandLine, "LINE"),
      help: "The command line to run, of any form."
    ),
    OptionSpec(
      .timeout, value: OptionValue(.duration, "TIME"),
      help: "Ends the job after TIME: 90, 90s, 30m, 2h or 7d.",
      details: """
        Its process group receives SIGTERM, and SIGKILL 10 seconds later. The job has then timed \
        out, which is a failure. The limit applies to each attempt.
        """
    ),
    OptionSpec(
      .retries, value: OptionValue(.count, "N"),
      help: "Runs the job again if it fails, up to N times.",
      details: """
        At once, or after --retry-delay, and before any other job: the order of the queue does not \
        change. N is at most \(ParsedArguments.mostCounted).
        """
    ),
    OptionSpec(
      .retryDelay, value: OptionValue(.duration, "TIME"),
      help: "Waits for TIME before each of these attempts.",
      details: "The jobs after it wait too."
    ),
    OptionSpec(
      .ifOK,
      help: "Skips the job unless the job before it succeeded.",
      details: """
        The job before it is the one whose turn was last, not the one that was added last. A \
        skipped job did not succeed: one failure skips a whole chain. Canceling a waiting job \
        skips the --if-ok jobs that follow it. See ORDER below for retries.
        """
    ),
    OptionSpec(.first, help: "Puts the job before all waiting jobs."),
    OptionSpec(
      .unique,
      help: "Adds nothing if the same command already waits.",
      details: """
        Compares the command and the directory, not the environment, the label or other options. \
        Prints the id of the waiting job. Running and finished jobs do not count.
        """
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
