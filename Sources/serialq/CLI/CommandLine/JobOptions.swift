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
      help: "Queues each line of FILE, all or none; - is stdin.",
      details: """
        Each line is a command line for /bin/sh. Blank lines and those whose first word starts \
        with # are ignored. A backslash at the end of a line joins it with the next one. A line \
        that ends inside quotes is refused, and nothing is queued.
        """
    ),
    .queue,
    OptionSpec(
      .name, short: "n", value: OptionValue(.text, "LABEL"),
      help: "A label that lists show for the job."
    ),
    OptionSpec(
      .directory, short: "C", value: OptionValue(.directory, "DIR"),
      help: "Runs the job in DIR instead of the current one.",
      details: "DIR need not exist yet: an earlier job may create it. A message says so."
    ),
    OptionSpec(
      .input, short: "i", value: OptionValue(.file, "FILE"),
      help: "Standard input from FILE; - keeps a copy of stdin.",
      details: """
        FILE must be a regular file. It is relative to the current directory, as with -f, and is \
        opened when the job runs: it need not exist yet. Without it, the standard input is empty. \
        With -, the job reads a copy, which is kept with the queue until the job is removed, and \
        has at most \(Humanize.size(InputCopy.limit)). With -f, it is the input of every job of \
        the file. - cannot be combined with --unique.
        """
    ),
    OptionSpec(
      .tty, short: "t",
      help: "Gives the job a terminal of its own; see attach.",
      details: """
        It is the standard input, the output and the controlling terminal of the job, with the TERM \
        and the size of the terminal of this call. The job prints as on any terminal, with colors \
        and progress bars, and its questions are answered with serialq attach. With -f, each job \
        of the file gets one. See TERMINALS below.
        """
    ),
    OptionSpec(
      .env, short: "e", value: OptionValue(.assignment, "NAME=VALUE"), repeats: true,
      help: "Sets a variable of the job. May be repeated.",
      details: """
        While add runs, every user can see the value with ps(1). Pass secrets in the environment \
        of the call, which the job receives too.
        """
    ),
    OptionSpec(
      .shell, short: "c", value: OptionValue(.commandLine, "LINE"),
      help: "The command line to run, of any form."
    ),
    OptionSpec(
      .timeout, value: OptionValue(.duration, "TIME"),
      help: "Ends the job after TIME: 90, 30m, 1h30m, 1.5h or 7d.",
      details: """
        0 sets no limit. All its processes receive SIGTERM, and SIGKILL 10 seconds later. The job \
        has then timed out, which is a failure. The limit applies to each attempt.
        """
    ),
    OptionSpec(
      .retries, value: OptionValue(.countOrNone, "N"),
      help: "Runs the job again if it fails, up to N times.",
      details: """
        At once, or after --retry-delay, and before the waiting jobs. During a delay, --first and \
        move can still put another job before it. 0 means none. N is at most \
        \(ParsedArguments.mostCounted).
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
        The short form of --after for the job before it, which is the one whose turn was last, not \
        the one that was added last. If no job had a turn yet, the job runs. A skipped job did not \
        succeed: one failure skips a whole chain. Canceling a waiting job skips the --if-ok jobs \
        that directly follow it. See CONDITIONS below for retries.
        """
    ),
    OptionSpec(
      .after, value: OptionValue(.jobIDs, "ID"), repeats: true,
      help: "Skips the job unless these succeeded: 1-3,build.",
      details: """
        May be repeated. The jobs must exist in the queue; a label means the latest job that has \
        it now. A job that failed, was cancelled or was skipped did not succeed, also if it is \
        removed later. The job waits behind those that still wait, and their automatic retries. \
        See CONDITIONS below.
        """
    ),
    OptionSpec(.first, help: "Puts the job before all waiting jobs."),
    OptionSpec(
      .unique,
      help: "Adds nothing if the same command already waits.",
      details: """
        Compares the command, the directory and the input, not the environment, the label or other \
        options. Prints the id of the waiting job. Running and finished jobs do not count.
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
