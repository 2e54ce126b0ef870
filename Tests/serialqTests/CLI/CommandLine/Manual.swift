import Foundation
@testable import SerialqCLI
import SerialqSystem
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

  static let file: URL = {
    var root = URL(filePath: #filePath)
    for _ in 1...5 { root.deleteLastPathComponent() }
    return root.appending(path: "Documentation/serialq.1")
  }()

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
    let paragraphs = (command.description + command.details).map(Mdoc.text)
      .joined(separator: "\n.Pp\n")
    let options = command.options.map(item).joined()
    let list = options.isEmpty ? "" : ".Bl -tag -width Ds\n\(options).El\n"
    return """
      .Ss \(names) \\(em \(command.summary)
      \(forms).Pp
      \(paragraphs)
      \(list)
      """
  }

  private static func item(_ option: OptionSpec) -> String {
    ".It \(Mdoc.option(option))\n\(Mdoc.text(option.help))\n"
  }
}
