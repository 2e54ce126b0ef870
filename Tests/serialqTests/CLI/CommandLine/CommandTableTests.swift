import Foundation
import SerialqSystem
import TestSupport
import Testing

@testable import SerialqCLI

@Suite struct CommandTableTests {
  // Fails if two commands share a name, or a name belongs to another command.
  @Test("every command is found by each of its names")
  func commands() {
    let words = CommandName.allCases.flatMap(\.names)
    #expect(Set(words).count == words.count)
    for name in CommandName.allCases {
      #expect(name.type.spec.name == name)
      for word in name.names { #expect(CommandName(called: Bytes(word.utf8)) == name) }
    }
  }

  // Fails if a command is not listed: add a case to `CommandName`.
  @Test("every command in the sources is listed")
  func allCommands() throws {
    let folder = repository.appendingPathComponent("Sources/serialq/CLI/Commands")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    let conforming = try files.flatMap { file in
      try String(contentsOf: folder.appending(path: file), encoding: .utf8)
        .matches(of: /extension (\w+): Subcommand/).map { String($0.1) }
    }
    #expect(conforming.sorted() == CommandName.allCases.map { "\($0.type)" }.sorted())
  }

  // Fails if a command is added, renamed or removed: name it in CHANGELOG.
  @Test("CHANGELOG lists every command")
  func changelog() throws {
    let file = repository.appendingPathComponent("CHANGELOG.md")
    let text = try String(contentsOf: file, encoding: .utf8)
    let list = try #require(text.firstMatch(of: /### serialq\n\n- ([^.]*)\./)).1
    let names = list.matches(of: /`(\w+)`/).map { String($0.1) }
    #expect(names.sorted() == CommandName.allCases.map { $0.names[0] }.sorted())
  }

  // Fails if two options of a command share a name or a letter.
  @Test("no command has two options with the same name", arguments: CommandName.allCases)
  func optionNames(_ name: CommandName) {
    let options = name.type.spec.allOptions
    #expect(Set(options.map(\.name)).count == options.count)
    let letters = options.compactMap(\.short)
    #expect(Set(letters).count == letters.count)
    // The parser reads a cluster byte by byte.
    #expect(letters.allSatisfy { $0.isASCII })
  }

  // Fails if an entry has no explanation.
  @Test("every command and option is explained", arguments: CommandName.allCases)
  func explained(_ name: CommandName) {
    let command = name.type.spec
    #expect(!command.summary.isEmpty && !command.description.isEmpty)
    #expect(!command.synopsis.isEmpty && !command.examples.isEmpty)
    for option in command.allOptions {
      #expect(option.help.hasSuffix("."), "\(option.long)")
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
  /// The name of the called command; nil if none is.
  fileprivate var name: CommandName? {
    guard case .command(let command) = self else { return nil }
    return type(of: command).spec.name
  }
}

/// The help of this command, or the overview if nil.
private func help(of name: CommandName?) -> String {
  name.map { Help.text(of: $0.type.spec) } ?? Help.overview
}

@Suite struct HelpTests {
  // Fails if a text changes: review the difference, then run with SERIALQ_UPDATE_SNAPSHOTS=1.
  @Test("the help of a command matches its snapshot", arguments: CommandName.allCases)
  func snapshots(_ name: CommandName) throws {
    try Snapshot.check(help(of: name), against: "help-\(name).txt")
  }

  // Fails if the text around the commands changes, or a command is missing, out of order or not
  // aligned.
  @Test("the overview matches its snapshot, and has a line for each command of the table")
  func overview() throws {
    let commands = CommandTable.commands.map { ($0.name.names.joined(separator: ", "), $0.summary) }
    let width = commands.map(\.0.count).max() ?? 0
    let lines = commands.map { names, summary in
      "  \(names.padding(toLength: width + 2, withPad: " ", startingAt: 0))\(summary)\n"
    }
    try Snapshot.check(Help.overview, with: lines.joined(), against: "help.txt")
  }

  // Fails if a line is not wrapped, or a synopsis or an example is too long for a terminal.
  @Test(
    "no line is wider than 80 columns or ends in spaces", arguments: [nil] + CommandName.allCases)
  func widths(_ name: CommandName?) {
    for line in help(of: name).split(separator: "\n") {
      #expect(line.count <= 80 && line.last != " ", "\(line)")
    }
  }

  // Fails if the text around the commands grows, or a summary takes a second line: shorten it. The
  // list grows with every command, and the whole has the bound of a command's help.
  @Test("the overview is a line for each command and 13 others, and fits on one screen")
  func oneScreen() {
    let lines = Help.overview.count(where: \.isNewline)
    #expect(lines - CommandName.allCases.count <= 13)
    #expect(lines <= 40)
  }

  // Fails if a command's help needs scrolling: long explanations belong in the manual.
  @Test("the help of every command fits on one screen", arguments: CommandName.allCases)
  func oneScreen(_ name: CommandName) {
    let lines = help(of: name).split(
      separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 40)
  }
}
