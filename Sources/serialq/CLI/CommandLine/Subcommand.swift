import SerialqQueue
import SerialqSystem

/// A command of the program: its options as data, its parsing and its work.
///
/// A new command is a type that conforms, in a file of its own, and a line in ``CommandTable``.
protocol Subcommand: Equatable, Sendable {
  static var name: String { get }

  /// Further names.
  static var aliases: [String] { get }

  /// The options and the help; its names are those of the type.
  static var spec: CommandSpec { get }

  /// Whether `SERIALQ_QUEUE` must name a valid queue.
  static var usesQueue: Bool { get }

  /// Whether the command applies to this job; completion offers no other.
  static func takes(_ job: Job) -> Bool

  /// Interprets arguments whose values are valid for their options.
  ///
  /// Pure: reads no file, variable or clock. `queue` is empty if the command uses none.
  init(parsing words: ParsedArguments, queue: String) throws(Failure)

  func perform(in session: inout Session) throws(Failure) -> ExitCode
}

extension Subcommand {
  static var aliases: [String] { [] }

  static var usesQueue: Bool { true }

  static func takes(_ job: Job) -> Bool { true }

  static func isCalled(_ word: Bytes) -> Bool {
    name.utf8.elementsEqual(word) || aliases.contains { $0.utf8.elementsEqual(word) }
  }

  /// Equality of commands of any type.
  func isEqual(to other: any Subcommand) -> Bool { self == other as? Self }
}

/// A type of command, comparable by identity.
struct CommandType: Equatable {
  var type: any Subcommand.Type

  init(_ type: any Subcommand.Type) { self.type = type }

  static func == (one: Self, other: Self) -> Bool { one.type == other.type }
}
