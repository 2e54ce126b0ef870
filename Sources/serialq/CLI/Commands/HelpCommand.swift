import SerialqRunner
import SerialqSystem

/// `serialq help`: prints the help, the manual or the systemd unit.
struct HelpCommand: Equatable {
  enum Topic: Equatable {
    case overview
    case command(CommandType)
    case manual
    /// For the program at this path; nil for this one.
    case systemdUnit(Bytes?)
  }

  var topic: Topic
}

extension OptionName {
  fileprivate static var man: Self { Self("man") }
  fileprivate static var unit: Self { Self("unit") }
}

extension HelpCommand: Subcommand {
  static let name = "help"

  static let usesQueue = false

  static let spec = CommandSpec(
    name: name,
    summary: "show help, also for one command",
    synopsis: ["help [COMMAND]", "help --man", "help --unit [PROGRAM]"],
    description: ["Shows an overview of all commands, or the details of one."],
    options: [
      OptionSpec(.man, help: "Shows the manual, as man serialq does."),
      OptionSpec(
        .unit, help: "Prints a systemd user unit that starts the runners after a reboot.",
        details:
          "PROGRAM is the full path of serialq in the unit, by default that of this program."),
    ],
    operands: .commandName,
    examples: [
      Example("serialq help add", "the details of add"),
      Example("serialq help --man", "the manual"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(topic: try Self.topic(words))
  }

  private static func topic(_ words: ParsedArguments) throws(Failure) -> Topic {
    if words.has(.man), words.has(.unit) {
      throw words.misused("--unit", "cannot be combined with --man")
    }
    if words.has(.man) {
      try words.refuseOperands()
      return .manual
    }
    let operand = words.operands.first
    if words.has(.unit) {
      try words.refuseOperands(after: 1)
      if let operand, operand.first != UInt8(ascii: "/") {
        throw words.misused(Visible.text(operand), "not the full path of a program")
      }
      return .systemdUnit(operand)
    }
    guard let operand else { return .overview }
    try words.refuseOperands(after: 1)
    return .command(CommandType(try Invocation.split([operand]).type))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    switch topic {
    case .overview: session.output.result(Help.overview)
    case .command(let command): session.output.result(Help.text(of: command.type.spec))
    case .manual: return try showManual()
    case .systemdUnit(let program):
      session.output.result(SystemdUnit.text(program: program ?? Machine.program()))
    }
    return .success
  }

  /// Shows the page that was installed with this program, by `man(1)`.
  private func showManual() throws(Failure) -> ExitCode {
    let folder = Machine.program().split(separator: UInt8(ascii: "/")).dropLast(2)
      .flatMap { [UInt8(ascii: "/")] + $0 }
    let pages = ["serialq.1", "serialq.1.gz"].map {
      Bytes(folder + Bytes("/share/man/man1/\($0)".utf8))
    }
    guard let page = pages.first(where: { (try? FileSystem.status(of: $0)) != nil }) else {
      throw Failure(
        "the manual", "it is not installed with this program",
        next: "Install it with make install, or read Documentation/serialq.1 in the sources.")
    }
    return try Foreground.run([Bytes("man"), page]).shellCode
  }
}
