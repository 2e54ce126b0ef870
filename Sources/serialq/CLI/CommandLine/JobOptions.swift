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
      help: "Queues every line of FILE, all or none; - is stdin.",
      details: """
        Each is a command line for /bin/sh; blank lines and lines that start with # are skipped.
        """
    ),
    .queue,
    OptionSpec(
      .name, short: "n", value: OptionValue(.text, "LABEL"),
      help: "A label to know the job by in lists."
    ),
    OptionSpec(
      .directory, short: "C", value: OptionValue(.directory, "DIR"),
      help: "Runs the job in DIR instead of the current one."
    ),
    OptionSpec(
      .env, short: "e", value: OptionValue(.assignment, "NAME=VALUE"), repeats: true,
      help: "Sets a variable of the job; may be given again.",
      details: """
        While add itself runs, everybody can see the value with ps(1): what is secret is better set in \
        the environment of the call, which the job gets too.
        """
    ),
    OptionSpec(
      .shell, short: "c", value: OptionValue(.commandLine, "LINE"),
      help: "The command line to run, whatever it looks like."
    ),
    OptionSpec(
      .timeout, value: OptionValue(.duration, "TIME"),
      help: "Ends the job after TIME: 90, 90s, 30m, 2h or 7d.",
      details: """
        Its process group is sent SIGTERM, and SIGKILL 10 seconds later; the job has then timed \
        out, which is a failure. Each attempt has the whole TIME.
        """
    ),
    OptionSpec(
      .retries, value: OptionValue(.count, "N"),
      help: "When it fails, runs it again, up to N times.",
      details: """
        At once, or after --retry-delay, and in any case before any other job: the order of the \
        queue stays what it was. N is \(ParsedArguments.mostCounted) at the most.
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
        The job before it is the one whose turn was last, whichever was added first. One that was \
        skipped did not succeed, so that one failure skips a whole chain. A job that is cancelled \
        while it waits takes those that follow it with --if-ok with it. See ORDER below for retries.
        """
    ),
    OptionSpec(.first, help: "Puts the job before all that wait."),
    OptionSpec(
      .unique,
      help: "Adds nothing if the same command waits already.",
      details: """
        The same means: the same command, in the same directory; the environment, the label and \
        the other options are not compared. Prints the id of the job that waits, and a job that \
        runs or is over does not count.
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
