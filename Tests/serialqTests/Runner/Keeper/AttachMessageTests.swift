@testable import SerialqRunner
import SerialqSystem
import Testing

/// The messages between an attached terminal and the keeper of a job's terminal.
struct AttachMessageTests {
  private static let all: [AttachMessage] = [
    .hello(TerminalWindow(columns: 80, rows: 24)), .keys(Bytes("yes\r")), .keys([]),
    .size(TerminalWindow(columns: 300, rows: 70_000)), .output(Bytes(repeating: 7, count: 1 << 15)),
    .typing(true), .typing(false), .over,
  ]

  // Fails if a message needs to arrive in one piece.
  @Test("messages are read back, however they are split", arguments: [1, 2, 3, 5, 100_000])
  func pieces(_ size: Int) throws {
    var rest = Self.all.flatMap(\.encoded)[...]
    var reader = AttachMessage.Reader()
    var read: [AttachMessage] = []
    while !rest.isEmpty {
      reader.add(Bytes(rest.prefix(size)))
      rest = rest.dropFirst(size)
      while let message = try reader.next() { read.append(message) }
    }
    var expected = Self.all
    // A size has two bytes.
    expected[3] = .size(TerminalWindow(columns: 300, rows: 65_535))
    #expect(read == expected)
  }

  // Fails if a length that is too large is waited for, which would take all memory, or another
  // version is accepted.
  @Test(
    "what is not of the protocol is refused",
    arguments: [
      [0, 0, 0], [9, 0, 0], [2, 0x80, 1], [6, 0, 1, 0], [5, 0, 0], [1, 0, 5, 2, 0, 24, 0, 80],
      [3, 0, 2, 1, 1],
    ] as [Bytes])
  func malformed(_ bytes: Bytes) {
    var reader = AttachMessage.Reader()
    reader.add(bytes)
    let failure = #expect(throws: Failure.self) { while try reader.next() != nil {} }
    #expect(failure?.why.contains("another version") == true)
  }
}
