import Foundation
import Testing

@testable import SerialqSystem

@Suite struct OutputTests {
  // Fails if `write` stops after a short write: a pipe accepts 64 KiB at once.
  @Test("everything is written, however little the pipe accepts at once")
  func writesEverything() throws {
    let pipe = Pipe()
    let descriptor = pipe.fileHandleForWriting.fileDescriptor
    // Also non-blocking, as another program may have left it.
    #expect(fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
    let sent = Bytes((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 % 251) })
    // On its own thread: a task would wait for a free thread of the pool on which tests run, and
    // this test would block another one meanwhile.
    DispatchQueue(label: "writer").async {
      var output = Output(results: descriptor)
      output.result(sent)
      #expect(throws: Never.self) { try output.flush() }
      #expect(throws: Never.self) { try pipe.fileHandleForWriting.close() }
    }
    // Compared outside of the expectation, which would take minutes to describe the difference.
    let isAll = Bytes(pipe.fileHandleForReading.readDataToEndOfFile()) == sent
    #expect(isAll)
  }
}

/// Two connected sockets.
func socketPair() throws -> [Int32] {
  #if canImport(Glibc)
    let kind = Int32(SOCK_STREAM.rawValue)
  #else
    let kind = SOCK_STREAM
  #endif
  var ends: [Int32] = [-1, -1]
  try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
  return ends
}

@Suite struct TerminalTraitsTests {
  private func traits(
    terminal: Bool = true, window: Int? = 100, _ variables: [String: String]
  ) -> TerminalTraits {
    TerminalTraits(isTerminal: terminal, windowColumns: window) { name in
      variables["\(name)"].map { Bytes($0.utf8) }
    }
  }

  // Fails if one of the conditions is dropped.
  @Test("color needs a capable terminal, and no variable that disables it")
  func color() {
    #expect(traits(["TERM": "xterm"]).hasColor)
    #expect(traits(["TERM": "xterm", "NO_COLOR": ""]).hasColor)
    #expect(!traits(["TERM": "xterm", "NO_COLOR": "1"]).hasColor)
    #expect(!traits(["TERM": "dumb"]).hasColor)
    #expect(!traits([:]).hasColor)
    #expect(!traits(terminal: false, ["TERM": "xterm"]).hasColor)
  }

  // Fails if COLUMNS is used without validation.
  @Test("COLUMNS overrides the window size, unless it is not a number")
  func width() {
    #expect(traits([:]).width == 100)
    #expect(traits(["COLUMNS": "60"]).width == 60)
    #expect(traits(["COLUMNS": "0"]).width == 100)
    #expect(traits(["COLUMNS": "wide"]).width == 100)
    #expect(traits(terminal: false, window: nil, [:]).width == nil)
  }
}
