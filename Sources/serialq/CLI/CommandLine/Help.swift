import SerialqSystem

/// Generates the help texts from the command table; no line is wider than 80 columns.
enum Help {
  private static let width = 80

  /// The overview: description, commands, exit codes and examples on one screen.
  static var overview: String {
    let commands = CommandTable.commands.map { command in
      (command.name.names.joined(separator: ", "), command.summary)
    }
    return """
      serialq - \(CommandTable.tagline)

      Usage: serialq [--host HOST] [COMMAND] [options]

      \(entries(commands))

      Before the command, --host HOST uses the queues of another machine, over ssh.
      See also: serialq help COMMAND, man serialq, serialq --version.
      \(wrapped("Exit codes: " + CommandTable.exitCodes, indent: 0))

      Examples:
      \(examples(CommandTable.examples))

      """
  }

  static func text(of command: CommandSpec) -> String {
    let names = command.name.names.joined(separator: ", ")
    let usage = command.synopsis.map { "  serialq \($0)" }.joined(separator: "\n")
    let paragraphs = command.description.map { wrapped($0, indent: 0) }
    // Only the command's own options, so that the help fits on a screen; the manual lists the
    // global ones.
    let options = command.options.map { (heading($0), $0.help) }
    let optionPart = options.isEmpty ? "" : "\n\nOptions:\n\(entries(options))"
    return """
      serialq \(names) - \(command.summary)

      Usage:
      \(usage)

      \(paragraphs.joined(separator: "\n\n"))\(optionPart)

      Examples:
      \(examples(command.examples))

      """
  }

  private static func heading(_ option: OptionSpec) -> String {
    let short = option.short.map { "-\($0), " } ?? "    "
    return short + option.long + (option.value.map { " \($0.placeholder)" } ?? "")
  }

  /// Formats two columns: names, and their wrapped meanings.
  private static func entries(_ entries: [(name: String, meaning: String)]) -> String {
    let indent = (entries.map(\.name.count).max() ?? 0) + 4
    return entries.map { name, meaning in
      "  \(name.padded(to: indent - 2))\(wrapped(meaning, indent: indent))"
    }.joined(separator: "\n")
  }

  private static func examples(_ examples: [Example]) -> String {
    let longest = examples.map(\.line.count).max() ?? 0
    return examples.map { example in
      "  \(example.line.padded(to: longest))  # \(example.meaning)"
    }.joined(separator: "\n")
  }

  /// Wraps `text` between words and indents all lines but the first.
  ///
  /// The first line is assumed to start at the indentation too.
  private static func wrapped(_ text: String, indent: Int) -> String {
    text.wrapped(to: width - indent).joined(separator: "\n" + String(repeating: " ", count: indent))
  }
}
