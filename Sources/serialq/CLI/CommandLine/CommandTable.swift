import SerialqQueue
import SerialqSystem

/// All commands and options as data, from which the parser, the help and the manual are derived.
enum CommandTable {
  static let version = "0.1.0"

  static let tagline = "queue commands that must run strictly one after another"

  static let exitCodes = """
    0 success, 1 a job failed, 124 timed out, 125 serialq itself failed, 126 cannot execute, \
    127 not found, 128+n killed by signal n.
    """

  /// Words and first options of other programs, and what does the same here: a command, or several
  /// with their uses.
  static let otherWords: [(words: [String], meant: String, command: String)] = [
    (["rm", "remove", "delete", "-r"], "cancel (waiting) or clean (done)", "cancel"),
    (["kill", "-k"], "cancel", "cancel"),
    (["stop"], "cancel (job) or pause (queue)", "pause"),
    (["suspend"], "pause --now", "pause"),
    (["unpause", "continue"], "resume", "resume"),
    (["restart", "requeue"], "retry", "retry"),
    (["enqueue", "submit", "push"], "add", "add"),
    (["-u"], "move --first", "move"),
    (["-C"], "clean", "clean"),
    (["reset"], "cancel --all and then clean --all", "clean"),
    (["config"], "set", "set"),
    (["groups"], "queues", "queues"),
    (["tail", "follow", "-t"], "log -f", "log"),
    (["cat", "output", "-c", "-o"], "log", "log"),
    (["fg", "answer", "send", "dtach", "tty"], "attach", "attach"),
    (["info", "-i", "-p", "-s"], "show", "show"),
    (["top", "watch"], "status -w", "status"),
    (["ps", "jobs", "-l"], "list", "list"),
    (["history"], "list or report", "report"),
    (["version"], "--version, or help", "help"),
  ]

  /// Options of other programs, the option that a command needs for the answer, and what does the
  /// same here.
  static let otherOptions: [(words: [String], option: OptionName, meant: String)] = [
    (["-V"], .version, "--version"),
    (["-l", "-L", "--label", "--title"], .name, "--name"),
    (["-w", "--dir", "--cwd", "--wd", "--working-directory"], .directory, "--directory"),
    (["-d"], .ifOK, "--if-ok"),
    (["-D"], .after, "--after"),
    (["--priority", "--prio", "--immediate"], .first, "--first, or serialq move"),
    (["--delay"], .retryDelay, "--retry-delay, or a sleep as the start of the command"),
    (["-j", "-S", "--jobs", "--parallel"], .queue, "another --queue for each job at a time"),
    (["-g", "--group"], .queue, "--queue"),
    (["--waiting", "--queued"], .state, "--state waiting"),
    (["--running"], .state, "--state running"),
    (["--tail"], .lines, "--lines, or --follow"),
    (["--retry", "--resume-failed"], .retries, "--retries"),
  ]

  /// The specifications of all commands.
  ///
  /// Building them takes longer than most invocations: parsing builds only its command's.
  static var commands: [CommandSpec] { CommandName.allCases.map { $0.type.spec } }

  /// Options that every command accepts.
  static let everywhere: [OptionSpec] = [
    OptionSpec(.help, short: "h", help: "Shows help for the command."),
    OptionSpec(.version, help: "Prints the version."),
  ]

  static let examples: [Example] = [
    Example("serialq add 'make && make test'", "a command line"),
    Example("serialq wait && echo done", "when all jobs are finished"),
  ]
}

/// The commands, in the order of the help.
enum CommandName: String, CaseIterable {
  case add, run, list, status, show, log, attach, report, wait, ack, cancel, retry, move, edit
  case pause, resume, start, clean, set, queues, completion, help

  /// The command that has this among its ``names``.
  init?(called word: Bytes) {
    self.init(rawValue: word == Bytes("ls") ? "list" : word.text)
  }

  var names: [String] { self == .list ? ["list", "ls"] : [rawValue] }

  var type: any Subcommand.Type {
    switch self {
    case .add: AddCommand.self
    case .run: RunCommand.self
    case .list: ListCommand.self
    case .status: StatusCommand.self
    case .show: ShowCommand.self
    case .log: LogCommand.self
    case .attach: AttachCommand.self
    case .report: ReportCommand.self
    case .wait: WaitCommand.self
    case .ack: AckCommand.self
    case .cancel: CancelCommand.self
    case .retry: RetryCommand.self
    case .move: MoveCommand.self
    case .edit: EditCommand.self
    case .pause: PauseCommand.self
    case .resume: ResumeCommand.self
    case .start: StartCommand.self
    case .clean: CleanCommand.self
    case .set: SetCommand.self
    case .queues: QueuesCommand.self
    case .completion: CompletionCommand.self
    case .help: HelpCommand.self
    }
  }
}

/// The long name of an option; its meaning depends on the command.
enum OptionName: String {
  case after, all, before, directory, env, failed, file, first, follow, help, host, html, input
  case json, keep, key, last, lines, man, name, now, open, queue, raw, remove, retries, running
  case shell, signal, state, timeout, tty, unconditional, unique, version, watch
  case detachKey = "detach-key"
  case ifOK = "if-ok"
  case noStart = "no-start"
  case noTTY = "no-tty"
  case olderThan = "older-than"
  case retryDelay = "retry-delay"
}

struct CommandSpec {
  var name: CommandName
  var summary: String
  /// The forms of the arguments after `serialq`, one per line.
  ///
  /// Made of words, `[word]`, `word...` and `a|b` without spaces: the manual marks each of them up.
  /// Write another form instead of nested brackets.
  var synopsis: [String]
  /// One element per paragraph.
  var description: [String]
  /// Further paragraphs, for the manual only.
  var details: [String] = []
  var options: [OptionSpec]
  var operands = Operands.none
  var examples: [Example]

  var allOptions: [OptionSpec] { options + CommandTable.everywhere }
}

enum Operands {
  case none
  /// A job's command; options end at its first word.
  case jobCommand
  case jobID
  /// A job and a command for it, at whose first word options end.
  case jobIDAndCommand
  /// Jobs, as ``JobSelection`` selects them.
  case jobIDs
  /// The name of a setting and its value.
  case setting
  case commandName
  /// An operand of `completion`.
  case completion

  /// The number of the operand with which a job's command begins, and options end.
  var commandStart: Int? {
    switch self {
    case .jobCommand: 1
    case .jobIDAndCommand: 2
    case .none, .jobID, .jobIDs, .setting, .commandName, .completion: nil
    }
  }
}

struct OptionSpec {
  var name: OptionName
  var short: Character?
  /// Nil for a flag.
  var value: OptionValue?
  var repeats: Bool
  var help: String

  init(
    _ name: OptionName, short: Character? = nil, value: OptionValue? = nil, repeats: Bool = false,
    help: String
  ) {
    self.name = name
    self.short = short
    self.value = value
    self.repeats = repeats
    self.help = help
  }

  var long: String { "--\(name.rawValue)" }

  /// Selects the queue; shared by all commands that use one.
  static let queue = OptionSpec(
    .queue, short: "q", value: OptionValue(.queue, "NAME"),
    help: "The queue: by default $SERIALQ_QUEUE, else \(QueueName.standard).")
}

struct OptionValue {
  /// Determines how a value is validated, and how a shell completes it.
  enum Kind: Equatable {
    case file, directory, queue, text, label, assignment, commandLine, duration, signal, key, jobID
    /// One or more jobs.
    case jobIDs
    /// At least 1.
    case count
    /// 0 means none.
    case countOrNone
    /// A count, or the word `all`.
    case countOrAll
    /// One of these, or several between commas.
    case choice([String])
  }

  var kind: Kind
  var placeholder: String

  init(_ kind: Kind, _ placeholder: String) {
    self.kind = kind
    self.placeholder = placeholder
  }
}

struct Example {
  /// The shell command line.
  var line: String
  var meaning: String

  init(_ line: String, _ meaning: String) {
    self.line = line
    self.meaning = meaning
  }
}
