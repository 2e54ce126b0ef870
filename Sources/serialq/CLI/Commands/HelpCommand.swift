import SerialqRunner
import SerialqSystem

/// `serialq help`: prints the help, or shows the manual.
struct HelpCommand: Equatable {
  enum Topic: Equatable {
    case overview
    case command(CommandName)
    case manual, version
  }

  var topic: Topic
}

extension HelpCommand: Subcommand {
  static let usesQueue = false

  static let spec = CommandSpec(
    name: .help,
    summary: "show help, also for one command",
    synopsis: ["help [COMMAND]", "help --man"],
    description: ["Shows an overview of all commands, or the details of one."],
    options: [
      OptionSpec(.man, help: "Shows the manual, as man serialq does.")
    ],
    operands: .commandName,
    examples: [
      Example("serialq help add", "the details of add"),
      Example("serialq help --man", "the manual"),
    ]
  )

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    try words.refuseOperands(after: words.has(.man) ? 0 : 1)
    if words.has(.man) {
      topic = .manual
    } else if let name = words.operands.first {
      topic = .command(try Invocation.split([name]).name)
    } else {
      topic = .overview
    }
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    switch topic {
    case .overview: session.output.result(Help.overview)
    case .command(let command): session.output.result(Help.text(of: command.type.spec))
    case .version: session.output.result("serialq \(CommandTable.version)\n")
    case .manual: return try showManual()
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
