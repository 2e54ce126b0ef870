import SerialqSystem

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

  static var commands: [CommandSpec] { CommandName.allCases.map(command) }

  /// What there is to say of a command.
  ///
  /// One at a time: to put all of them together takes longer than what most calls are for.
  static func command(_ name: CommandName) -> CommandSpec {
    switch name {
    case .add: add
    case .run: run
    case .list: list
    case .status: status
    case .show: show
    case .log: log
    case .report: report
    case .wait: wait
    case .ack: ack
    case .cancel: cancel
    case .retry: retry
    case .move: move
    case .edit: edit
    case .pause: pause
    case .resume: resume
    case .clean: clean
    case .set: set
    case .queues: queues
    case .completion: completion
    case .help: help
    }
  }

  /// The command that `word` names, by its name or an alias.
  static func command(called word: Bytes) -> CommandSpec? {
    CommandName(called: word).map(command)
  }

  /// Understood beside the options of each command.
  static let everywhere: [OptionSpec] = [
    OptionSpec(.help, short: "h", help: "Shows help, of the command if one is given."),
    OptionSpec(.version, help: "Prints the version."),
  ]

  static let examples: [Example] = [
    Example("serialq add 'make && make test'", "a command line"),
    Example("serialq wait && echo done", "when all is done"),
  ]
}

enum CommandName: String, CaseIterable {
  case add, run, list, status, show, log, report, wait, ack, cancel, retry, move, edit, pause
  case resume, clean, set, queues, completion, help

  /// The command that `word` names, by its name or an alias.
  init?(called word: Bytes) {
    guard let name = Self.allCases.first(where: { $0.isCalled(word) }) else { return nil }
    self = name
  }

  private func isCalled(_ word: Bytes) -> Bool {
    rawValue.utf8.elementsEqual(word) || aliases.contains { $0.utf8.elementsEqual(word) }
  }

  var aliases: [String] { self == .list ? ["ls"] : [] }

  var words: [String] { [rawValue] + aliases }
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
