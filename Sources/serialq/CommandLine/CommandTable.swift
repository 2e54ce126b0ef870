/// Every command and option of the program, as data: the parser and the help are made from it.
enum CommandTable {
  static let version = "0.1.0"

  /// When something about it last changed, for the manual.
  static let date = "November 21, 2026"

  static let tagline = "queue commands that must run strictly one after another"

  static let exitCodes = """
    0 fine, 1 a job failed, 124 timed out, 125 serialq itself could not, 126 cannot execute, \
    127 not found, 128+n ended by signal n.
    """

  static let commands: [CommandSpec] = [
    add, run, list, status, show, log, report, wait, ack, cancel, retry, move, edit, pause, resume,
    clean, set, queues, completion, help,
  ]

  /// Understood beside the options of each command.
  static let everywhere: [OptionSpec] = [
    OptionSpec(.help, short: "h", help: "Shows help, of the command if one is given."),
    OptionSpec(.version, help: "Prints the version."),
  ]

  static let examples: [Example] = [
    Example("serialq add 'make && make test'", "a command line"),
    Example("serialq wait && echo done", "when all is done"),
  ]

  static func command(_ name: CommandName) -> CommandSpec? {
    commands.first { $0.name == name }
  }

  /// The command that `word` names, by its name or an alias.
  static func command(called word: Bytes) -> CommandSpec? {
    commands.first { $0.words.contains { $0.utf8.elementsEqual(word) } }
  }
}

enum CommandName: String, CaseIterable {
  case add, run, list, status, show, log, report, wait, ack, cancel, retry, move, edit, pause
  case resume, clean, set, queues, completion, help
}

/// An option's long name; what it means belongs to the command.
enum OptionName: String, CaseIterable {
  case file, queue, name, directory, env, shell, timeout, retries, first, unique
  case retryDelay = "retry-delay"
  case ifOK = "if-ok"
  case noStart = "no-start"
  case html, json, state, failed, last, follow, watch, all, running, signal, before, keep
  case olderThan = "older-than"
  case man, unit, help, version
}

struct CommandSpec {
  var name: CommandName
  var aliases: [String] = []
  var summary: String
  /// What may follow `serialq`, a form a line.
  var synopsis: [String]
  /// Paragraphs.
  var description: [String]
  /// Further paragraphs, for the manual alone.
  var details: [String] = []
  var options: [OptionSpec]
  var operands: Operands
  var examples: [Example]

  var words: [String] { [name.rawValue] + aliases }

  /// The command's own options and those understood everywhere.
  var allOptions: [OptionSpec] { options + CommandTable.everywhere }
}

/// What a command takes beside its options.
enum Operands {
  case none
  /// A job's command; options stop at its first word.
  case jobCommand
  case jobID
  /// Ids, and ranges of them as `add -f` prints them.
  case jobIDs
  /// The name of a setting and its value.
  case setting
  case commandName
  /// What `completion` writes.
  case completion
}

struct OptionSpec {
  var name: OptionName
  var short: Character?
  /// None for a flag.
  var value: OptionValue?
  var repeats: Bool
  var help: String
  /// What the manual says beside the help.
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

  var long: String { "--\(name.rawValue)" }
}

struct OptionValue {
  /// Decides how a value is checked, and how a shell completes it.
  enum Kind: Equatable {
    case file, directory, queue, text, assignment, commandLine, count, duration, signal, jobID
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
  /// As typed into a shell.
  var line: String
  var meaning: String

  init(_ line: String, _ meaning: String) {
    self.line = line
    self.meaning = meaning
  }
}
