import SerialqQueue
@testable import SerialqSystem
import Testing

@testable import SerialqCLI

@Suite struct JobFileTests {
  private func parse(_ text: Bytes) throws(Failure) -> [Command] {
    try JobFile.commands(in: text, from: Bytes("jobs.txt"))
  }

  // Fails if a line is trimmed, or a comment or blank line counts as a command.
  @Test("each line is a command, byte for byte, except comments and blank lines")
  func lines() throws {
    #expect(
      try parse(Bytes("a\n# b\n\n \t\n  # c\n d  e # f \r\ng")) == [
        .shell(Bytes("a")), .shell(Bytes(" d  e # f ")), .shell(Bytes("g")),
      ]
    )
    #expect(try parse([0xFF, 0x0A]) == [.shell([0xFF])])
    #expect(try parse(Bytes("a\rb\r\n")) == [.shell(Bytes("a\rb"))])
  }

  // Fails if blank lines are not counted, or NUL is accepted.
  @Test("a NUL is refused with the number of its line")
  func nul() throws {
    let failure = #expect(throws: Failure.self) { try parse(Bytes("a\n\n# b\nc\0d\n")) }
    #expect(failure?.what == "jobs.txt, line 4")
    #expect(failure?.code == .cannot)
  }

  // Fails if a file without commands is silently accepted.
  @Test("a file without a command is refused", arguments: ["", "\n\n", "# a\r\n"])
  func empty(_ text: String) throws {
    let failure = #expect(throws: Failure.self) { try parse(Bytes(text.utf8)) }
    #expect(failure?.why == "no command in it")
    #expect(failure?.description.contains("\nNothing was queued, and nothing is run. ") == true)
    let standardInput = #expect(throws: Failure.self) {
      try JobFile.commands(in: Bytes(text.utf8), from: Bytes("-"))
    }
    #expect(standardInput?.what == "standard input")
  }

  // Fails if the backslash or the line end stays, or a comment continues: return `.complete` for a
  // trailing backslash.
  @Test("a backslash at the end of a line joins it with the next, as in a shell")
  func joinedLines() throws {
    #expect(
      try parse(Bytes("make \\\n  -j4 \\\r\n  all\necho b")) == [
        .shell(Bytes("make   -j4   all")), .shell(Bytes("echo b")),
      ])
    #expect(
      try parse(Bytes("echo \"a\\\nb\"\necho a\\\\\necho c")) == [
        .shell(Bytes("echo \"ab\"")), .shell(Bytes("echo a\\\\")), .shell(Bytes("echo c")),
      ])
    #expect(
      try parse(Bytes("# a \\\necho b # c \\\necho d\\")) == [
        .shell(Bytes("echo b # c \\")), .shell(Bytes("echo d")),
      ])
  }

  // Fails if a backslash at the end of the file hides that a quote is open.
  @Test("a quote that is open at the end of the file is refused, also after a backslash")
  func openAtEnd() throws {
    let failure = #expect(throws: Failure.self) { try parse(Bytes("true\necho \"a\\")) }
    #expect(failure?.what == "jobs.txt, line 2")
    #expect(failure?.why == "a quote (\") is open at the end of the line")
  }

  // Fails if an open quote becomes several jobs: never throw in `refuseQuote`.
  @Test(
    "a quote that is open at the end of a line is refused with the number of the line",
    arguments: [
      "echo 'a", "echo \"a", "echo 'a\\", "echo \\'a'", "echo a 'b' \"c'", "echo a#'",
      "echo \\\n'a",
    ])
  func openQuotes(_ line: String) throws {
    let failure = #expect(throws: Failure.self) {
      try parse(Bytes("# 'comment\ntrue\n\(line)\nb'\"\n".utf8))
    }
    #expect(failure?.what == "jobs.txt, line \(line.contains("\n") ? 4 : 3)")
    #expect(failure?.why.contains("is open at the end of the line") == true)
  }

  // Fails if a quote in a comment, an escaped one, or one inside a substitution counts.
  @Test(
    "a line whose quotes are closed is accepted, and so is one that shells read differently",
    arguments: [
      "echo a # don't", "echo it\\'s", "echo \"it's\"", "echo '\"'", "echo \"\\\"\"",
      "echo \"$(echo '\"')\"", "echo $'it\\'s'", "echo \"`echo '\"'`\"", "echo $# 'a'",
      "echo \"${x:-\"'\"}\"", "case a in a)# don't", "echo `echo \\\\'`",
    ])
  func closedQuotes(_ line: String) throws {
    #expect(
      try parse(Bytes("\(line)\ntrue".utf8)) == [
        .shell(Bytes(line.utf8)), .shell(Bytes("true")),
      ])
  }

  // Fails if a line of several is read as one alone: remove the guard in `openQuote`.
  @Test(
    "several lines as one command are accepted with any quotes",
    arguments: ["cat <<E\nit's\nE", "true # it's\ntrue", "exit 0\nit's"])
  func severalLines(_ text: String) {
    #expect(JobFile.openQuote(in: Bytes(text.utf8)) == nil)
  }

  // Fails if the mark becomes part of the first command, or hides its comment sign.
  @Test("a byte order mark is dropped")
  func byteOrderMark() throws {
    let mark: Bytes = [0xEF, 0xBB, 0xBF]
    #expect(try parse(mark + Bytes("make\n")) == [.shell(Bytes("make"))])
    #expect(try parse(mark + Bytes("# a\nmake\n")) == [.shell(Bytes("make"))])
    #expect(throws: Failure.self) { try parse(mark) }
  }
}
