import SerialqQueue
import SerialqSystem

/// A command of the program: its options as data, its parsing and its work.
///
/// A new command is a type that conforms, in a file of its own, and a case of ``CommandName``.
protocol Subcommand: Equatable, Sendable {
  /// The options and the help.
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
  static var usesQueue: Bool { true }

  static func takes(_ job: Job) -> Bool { true }
}
