import Foundation
import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

@testable import SerialqCLI

@Suite struct ManualTests {
  // Fails if the table changes: run with SERIALQ_UPDATE_SNAPSHOTS=1, which writes the manual.
  @Test("the commands in the manual are those of the table")
  func commands() throws {
    try Snapshot.check(Manual.current, in: Manual.file)
  }

  // Fails if a macro is misspelled or misplaced, a line is too long, or a sentence does not start
  // on a new line.
  @Test("mandoc reports nothing, at any level, but the place of the examples", .needs(.mandoc))
  func lint() throws {
    let reports = try mandoc("-Tlint -Wall").split(separator: "\n")
    // Of the machine: a manual page that is installed, and that its database does not have. And of
    // the examples, which stand before the reference.
    let expected =
      /mandoc: outdated mandoc\.db .*|.*: sections out of conventional order: Sh ENVIRONMENT/
    #expect(reports.filter { $0.wholeMatch(of: expected) == nil }.isEmpty)
  }

  // Fails if an example is too wide: a line that is not filled is not broken.
  @Test("no line of the manual has 80 columns", .needs(.mandoc, .col))
  func width() throws {
    let lines = try mandoc("-Tascii -Owidth=78 | col -bx").split(separator: "\n")
    #expect(lines.filter { $0.count > 79 }.isEmpty)
  }

  // Fails if a file that the manual names is moved.
  @Test("the files that the manual names are in the sources")
  func files() throws {
    let names = try Manual.text.split(whereSeparator: \.isWhitespace)
      .filter { $0.hasPrefix("Documentation/") }
    #expect(Set(names) == ["Documentation/Internals.md", "Documentation/Launchers.md"])
    for name in names {
      let path = repository.appendingPathComponent(String(name)).path
      #expect(FileManager.default.fileExists(atPath: path))
    }
  }

  // Fails if the manual omits part of the table, or a macro hides a word.
  @Test(
    "the manual shows every command, option, form and paragraph of the table",
    .needs(.mandoc, .col))
  func everything() throws {
    let shown = try mandoc("-Tascii -Owidth=1000 | col -b")
      .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    for text in Self.table {
      let isShown = shown.contains(text)
      #expect(isShown, "\(text)")
    }
  }

  // Fails if a paragraph becomes longer: split it.
  @Test("at most five lines of prose precede the options of a command")
  func leads() throws {
    for command in CommandTable.commands {
      let lead = try #require(command.description.first)
      // As wide as the text is in a terminal of 80 columns.
      let lines = lead.wrapped(to: 71)
      #expect(lines.count <= 5, "\(command.name)")
    }
  }

  /// The table's text for the manual, as rendered.
  private static var table: [String] {
    var texts: [String] = []
    for command in CommandTable.commands {
      texts.append("\(command.name.names.joined(separator: ", ")) -- \(command.summary)")
      texts += command.synopsis.map { form in
        "serialq " + form.replacing("...", with: " ...").replacing("|", with: " | ")
      }
      texts += command.description + command.details
      for option in command.allOptions {
        let short = option.short.map { "-\($0), " } ?? ""
        let value = option.value.map { " \($0.placeholder)" } ?? ""
        texts.append("\(short)\(option.long)\(value) \(option.help)")
      }
    }
    return texts
  }

  // Fails if a section is missing or moved: a reader needs the examples before the reference.
  @Test("the sections are in their order, examples before commands")
  func sections() throws {
    let sections = try Manual.text.split(separator: "\n").filter { $0.hasPrefix(".Sh ") }.map {
      String($0.dropFirst(4))
    }
    #expect(
      sections == [
        "NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "COMMANDS", "JOBS", "TERMINALS",
        "BEYOND ONE MACHINE", "LOGOUT AND REBOOT", "JSON", "ENVIRONMENT", "FILES", "EXIT STATUS",
        "SEE ALSO", "ASSUMPTIONS", "CAVEATS",
      ])
  }

  // Fails if a state is not explained.
  @Test("every state is in the manual")
  func states() throws {
    for state in JobState.allCases {
      #expect(try Manual.text.contains(".It Li \(state.name)\n"))
    }
  }

  /// The manual as rendered by mandoc(1).
  private func mandoc(_ words: String) throws -> String {
    let script = "{ mandoc \(words); } 2>&1 <'\(Manual.file.path)'"
    return try RealShell.output(of: Bytes(script.utf8), in: "/bin/sh").text
  }
}
