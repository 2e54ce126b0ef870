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
    let standardInput = #expect(throws: Failure.self) {
      try JobFile.commands(in: Bytes(text.utf8), from: Bytes("-"))
    }
    #expect(standardInput?.what == "standard input")
  }
}
