import Foundation
import SerialqSystem
import Testing

@testable import SerialqCLI

@Suite struct CommandTableTests {
  // Fails if a command or an alias is listed twice, or a command is missing.
  @Test("every command is listed once")
  func commands() {
    let words = CommandName.allCases.flatMap(\.words)
    #expect(Set(words).count == words.count)
    #expect(CommandTable.commands.map(\.name) == CommandName.allCases)
  }

  // Fails if two options of a command share a name or a letter.
  @Test("no command has two options with the same name", arguments: CommandName.allCases)
  func optionNames(_ name: CommandName) {
    let options = CommandTable.command(name).allOptions
    #expect(Set(options.map(\.name)).count == options.count)
    let letters = options.compactMap(\.short)
    #expect(Set(letters).count == letters.count)
    // The parser reads a cluster byte by byte.
    #expect(letters.allSatisfy { $0.isASCII })
  }

  // Fails if an entry has no explanation.
  @Test("every command and option is explained", arguments: CommandName.allCases)
  func explained(_ name: CommandName) {
    let command = CommandTable.command(name)
    #expect(!command.summary.isEmpty && !command.description.isEmpty)
    #expect(!command.synopsis.isEmpty && !command.examples.isEmpty)
    for option in command.allOptions {
      #expect(option.help.hasSuffix("."), "\(option.long)")
      #expect(option.details.isEmpty || option.details.hasSuffix("."), "\(option.long)")
      #expect(option.value?.placeholder.isEmpty != true, "\(option.long)")
    }
  }

  // Fails if the program does not accept an example as a real shell would pass it.
  @Test("every example parses as a call of its command")
  func examples() throws {
    let general = CommandTable.examples.map { (CommandName?.none, $0.line) }
    let own = CommandTable.commands.flatMap { command in
      command.examples.map { (CommandName?.some(command.name), $0.line) }
    }
    for (name, line) in general + own {
      // Replaces the programs that read the output of serialq.
      let function = """
        exec 3>&1; source() { :; }; man() { :; }
        serialq() { for word; do printf '%s\\0' "$word" >&3; done; }

        """
      let output = try RealShell.output(of: Bytes((function + line).utf8), in: "/bin/sh")
      let words = output.split(separator: 0, omittingEmptySubsequences: false).dropLast()
      let invocation = try Invocation.parse(words.map { Bytes($0) })
      if let name { #expect(invocation.name == name, "\(line)") }
    }
  }
}

extension Invocation {
  fileprivate var name: CommandName? {
    switch self {
    case .add: .add
    case .run: .run
    case .list: .list
    case .status: .status
    case .show: .show
    case .log: .log
    case .report: .report
    case .help, .manual, .systemdUnit: .help
    case .completion, .completionWords: .completion
    case .wait: .wait
    case .ack: .ack
    case .cancel: .cancel
    case .retry: .retry
    case .move: .move
    case .edit: .edit
    case .pause: .pause
    case .resume: .resume
    case .clean: .clean
    case .set: .set
    case .queues: .queues
    case .version, .backgroundRunner: nil
    }
  }
}

@Suite struct HelpTests {
  // Fails if a text changes: review the difference, then run with SERIALQ_UPDATE_SNAPSHOTS=1.
  @Test("the help matches the snapshots", arguments: [nil] + CommandName.allCases)
  func snapshots(_ name: CommandName?) throws {
    let file = name.map { "help-\($0.rawValue).txt" } ?? "help.txt"
    try Snapshot.check(Help.text(of: name), against: file)
  }

  // Fails if a line is not wrapped, or a synopsis or an example is too long for a terminal.
  @Test(
    "no line is wider than 80 columns or ends in spaces", arguments: [nil] + CommandName.allCases)
  func widths(_ name: CommandName?) {
    for line in Help.text(of: name).split(separator: "\n") {
      #expect(line.count <= 80 && line.last != " ", "\(line)")
    }
  }

  // Fails if the overview outgrows a small terminal.
  @Test("the overview fits on one screen")
  func oneScreen() {
    #expect(Help.text(of: nil).count(where: \.isNewline) <= 32)
  }

  // Fails if a command's help needs scrolling: long explanations belong in the manual.
  @Test("the help of every command fits on one screen", arguments: CommandName.allCases)
  func oneScreen(_ name: CommandName) {
    #expect(
      Help.text(of: name).split(separator: "\n", omittingEmptySubsequences: false).count <= 40)
  }
}
