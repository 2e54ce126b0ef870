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

  /// All commands, in the order of the help.
  static var types: [any Subcommand.Type] {
    Array(
      sequence(state: 0) { place in
        defer { place += 1 }
        return type(at: place)
      })
  }

  /// The command at this place in the order of the help; nil after the last one.
  ///
  /// Not an array: the conformances of all commands would be built to find one of them.
  private static func type(at place: Int) -> (any Subcommand.Type)? {
    switch place {
    case 0: AddCommand.self
    case 1: RunCommand.self
    case 2: ListCommand.self
    case 3: StatusCommand.self
    case 4: ShowCommand.self
    case 5: LogCommand.self
    case 6: AttachCommand.self
    case 7: ReportCommand.self
    case 8: WaitCommand.self
    case 9: AckCommand.self
    case 10: CancelCommand.self
    case 11: RetryCommand.self
    case 12: MoveCommand.self
    case 13: EditCommand.self
    case 14: PauseCommand.self
    case 15: ResumeCommand.self
    case 16: StartCommand.self
    case 17: CleanCommand.self
    case 18: SetCommand.self
    case 19: QueuesCommand.self
    case 20: CompletionCommand.self
    case 21: HelpCommand.self
    default: nil
    }
  }

  /// Words of other programs, and what does the same here: a command, or several with their uses.
  static let otherWords: [(words: [String], meant: String, command: String)] = [
    (["rm", "remove", "delete"], "cancel (waiting) or clean (done)", "cancel"),
    (["kill"], "cancel", "cancel"),
    (["stop"], "cancel (job) or pause (queue)", "pause"),
    (["restart", "requeue"], "retry", "retry"),
    (["tail", "follow"], "log -f", "log"),
    (["cat", "output"], "log", "log"),
    (["fg", "answer", "send", "dtach", "tty"], "attach", "attach"),
    (["info"], "show", "show"),
    (["top", "watch"], "status -w", "status"),
    (["ps", "jobs"], "list", "list"),
    (["history"], "list or report", "report"),
    (["version"], "--version, or help", "help"),
  ]

  /// The specifications of all commands.
  ///
  /// Building them takes longer than most invocations: parsing builds only that of its command.
  static var commands: [CommandSpec] { types.map { $0.spec } }

  /// The command with this name or alias.
  static func type(called word: Bytes) -> (any Subcommand.Type)? {
    var place = 0
    while let type = type(at: place) {
      if type.isCalled(word) { return type }
      place += 1
    }
    return nil
  }

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

/// The long name of an option; its meaning depends on the command.
///
/// Here are the names that several commands use; any other is beside its command.
struct OptionName: Hashable {
  var text: String

  init(_ text: String) { self.text = text }

  static var queue: Self { Self("queue") }
  static var env: Self { Self("env") }
  static var name: Self { Self("name") }
  static var timeout: Self { Self("timeout") }
  static var first: Self { Self("first") }
  static var json: Self { Self("json") }
  static var failed: Self { Self("failed") }
  static var last: Self { Self("last") }
  static var all: Self { Self("all") }
  static var help: Self { Self("help") }
  static var version: Self { Self("version") }
}

struct CommandSpec {
  var name: String
  var aliases: [String] = []
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
  var operands: Operands
  var examples: [Example]

  var names: [String] { [name] + aliases }

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
  /// Text that the manual adds to the help.
  var details: String

  init(
    _ name: OptionName, short: Character? = nil, value: OptionValue? = nil, repeats: Bool = false,
    help: String, details: String = ""
  ) {
    self.name = name
    self.short = short
    self.value = value
    self.repeats = repeats
    self.help = help
    self.details = details
  }

  var long: String { "--\(name.text)" }

  /// Selects the queue; shared by all commands that use one.
  static let queue = OptionSpec(
    .queue, short: "q", value: OptionValue(.queue, "NAME"),
    help: "The queue: by default $SERIALQ_QUEUE, else \(QueueName.standard).")
}

struct OptionValue {
  /// Determines how a value is validated, and how a shell completes it.
  enum Kind: Equatable {
    case file, directory, queue, text, assignment, commandLine, duration, signal, key, jobID
    /// One or more jobs.
    case jobIDs
    /// At least 1.
    case count
    /// 0 means none.
    case countOrNone
    /// A count, or the word `all`.
    case countOrAll
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
