import Foundation
@testable import SerialqCLI
import SerialqSystem
import TestSupport
import Testing

/// The manual page, `Documentation/serialq.1`.
enum Manual {
  /// The examples of the section, which can be run in order.
  static var examples: [String] {
    get throws {
      let section = try #require(text.components(separatedBy: "\n.Sh EXAMPLES\n").last)
      let lines = section.components(separatedBy: "\n.Sh ")[0].split(separator: "\n")
      return lines.filter { $0.hasPrefix("$ ") }.map {
        String($0.dropFirst(2)).replacing("\\-", with: "-").replacing("\\e", with: "\\")
      }
    }
  }

  static var text: String {
    get throws { try String(contentsOf: file, encoding: .utf8) }
  }

  static let file = repository.appendingPathComponent("Documentation/serialq.1")

  /// The comments around the part that is generated.
  private static let marks = [
    ".\\\" The next part is written by ManualTests from the table of commands.\n",
    ".\\\" Here it ends.\n",
  ]

  /// The text with the part of the commands as the table has it.
  static var current: String {
    get throws {
      let (before, rest) = try halves(of: text, at: marks[0])
      let (_, after) = try halves(of: rest, at: marks[1])
      return before + marks[0] + CommandTable.commands.map(section).joined() + marks[1] + after
    }
  }

  private static func halves(of text: String, at mark: String) throws -> (String, String) {
    let parts = text.components(separatedBy: mark)
    try #require(parts.count == 2)
    return (parts[0], parts[1])
  }

  /// The description of a command.
  private static func section(_ command: CommandSpec) -> String {
    let names = command.name.names.joined(separator: ", ")
    let forms = command.synopsis.map { ".D1 Nm serialq \(Mdoc.form($0))\n" }.joined()
    // What a command does, its options, and then what else is to know.
    let paragraphs = (command.description + command.details).map { ".Pp\n\(Mdoc.text($0))\n" }
    return """
      .Ss \(names) \\(em \(command.summary)
      \(forms)\(paragraphs[0])\(options(of: command))\(paragraphs.dropFirst().joined())
      """
  }

  /// The options of a command.
  ///
  /// Without those that are described elsewhere: `--queue` above all commands, and the options that
  /// are the same for `add`.
  private static func options(of command: CommandSpec) -> String {
    let described = command.name == .add ? [] : AddCommand.spec.options.map(item)
    let options = command.options.filter { $0.name != .queue }
    let names = options.filter { described.contains(item($0)) }
      .map { "-\($0.name.rawValue)" }.joined(separator: " , ")
    let own = options.map(item).filter { !described.contains($0) }.joined()
    return (names.isEmpty ? "" : ".Pp\nAlso has these options of\n.Cm add :\n.Fl \(names) .\n")
      + (own.isEmpty ? "" : "\(start)\(own).El\n")
  }

  /// Puts most options on one line.
  private static let start = ".Pp\n.Bl -tag -width \"-e, --env NAME=VALUE\" -compact\n"

  private static func item(_ option: OptionSpec) -> String {
    ".It \(Mdoc.option(option))\n\(Mdoc.text(option.help))\n"
  }
}
