/// The manual page in mdoc(7): sections generated from the command table, and prose.
enum Manual {
  static var text: String {
    [
      head, description, commands, jobs, terminals, beyond, afterReboot, json, environment, files,
      exitStatus, examplesSection, internals, assumptions, caveats,
    ].joined()
  }

  private static var head: String {
    """
    .Dd \(CommandTable.date)
    .Dt SERIALQ 1
    .Os
    .Sh NAME
    .Nm serialq
    .Nd \(CommandTable.tagline)
    .Sh SYNOPSIS
    .Nm
    .Op Cm status
    .Op Ar options
    .Nm
    .Op Fl -host Ar HOST
    .Ar command
    .Op Ar options
    .Op Ar argument ...

    """
  }

  private static var commands: String {
    let everywhere = CommandTable.everywhere.map(item).joined()
    return """
      .Sh COMMANDS
      Every command understands:
      .Bl -tag -width Ds
      \(everywhere).El
      .Pp
      Before any of them can come:
      .Bl -tag -width Ds
      \(item(HostOption.spec)).El
      \(CommandTable.commands.map(section).joined())
      """
  }

  /// The description of a command.
  static func section(_ command: CommandSpec) -> String {
    let names = command.names.joined(separator: ", ")
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
    let details = option.details.isEmpty ? "" : "\(Mdoc.text(option.details))\n"
    return ".It \(Mdoc.option(option))\n\(Mdoc.text(option.help))\n\(details)"
  }
}
