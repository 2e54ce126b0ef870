@testable import SerialqSystem
import Testing

@testable import SerialqRunner

@Suite struct LogCursorTests {
  // Fails if the incomplete line is printed early, scanned only in its last piece, or lost.
  @Test("an incomplete line is held back until its end is scanned")
  func wholeLines() {
    var cursor = LogCursor()
    #expect(cursor.scan(Bytes("a\nbc"), wholeLines: true) == 2)
    cursor.advance(to: 2)
    #expect(cursor.openLine(atMost: 10) == 2..<4 && cursor.openLine(atMost: 1) == 3..<4)
    #expect(cursor.scan(Bytes("d"), wholeLines: true) == nil)
    #expect(cursor.openLine(atMost: 10) == 2..<5)
    #expect(cursor.scan(Bytes("e\n"), wholeLines: true) == 7)
    #expect(cursor.part(before: 5, atMost: 2) == 2..<4)
    cursor.advance(to: 7)
    #expect(cursor.openLine(atMost: 10) == nil && cursor.part(before: 7, atMost: 2) == nil)
  }

  // Fails if a line that was held back is not printed with the rest, or a part is printed twice.
  @Test("without a display everything is printed at once, a line that was held back first")
  func everything() {
    var cursor = LogCursor()
    #expect(cursor.scan(Bytes("ab"), wholeLines: true) == nil)
    cursor.releaseLine()
    #expect(cursor.scanned == 0)
    #expect(cursor.scan(Bytes("abc"), wholeLines: false) == 3)
    cursor.advance(to: 3)
    #expect(cursor.scanned == 3 && cursor.openLine(atMost: 10) == nil)
  }
}

@Suite struct LogReaderTests {
  /// A log, and the file to which it is printed.
  private struct Bench {
    let folder: TemporaryFolder
    let log: Bytes
    private let path: Bytes
    private let target: FileDescriptor
    var reader: LogReader
    var output: Output

    init() throws {
      folder = try TemporaryFolder()
      log = folder.path("log")
      reader = LogReader(log, TerminalRestorer())
      path = folder.path("printed")
      target = try FileDescriptor.open(path, .log)
      output = Output(results: target.raw)
    }

    func append(_ text: String) throws {
      try FileDescriptor.open(log, .log).writeAll(Bytes(text.utf8))
    }

    mutating func print(wholeLines: Bool = false) throws {
      try reader.print(to: &output, wholeLines: wholeLines)
    }

    /// What was printed since the last call.
    func printed() throws -> String {
      defer { try? target.truncate(to: 0) }
      return try content(path).text
    }
  }

  // Fails if a missing log is an error, is not looked for again, or old content is printed again.
  @Test("only what was appended is printed, and a missing log is empty")
  func appended() throws {
    var bench = try Bench()
    try bench.print()
    #expect(try bench.printed() == "")
    try bench.append("a\nb")
    for text in ["a\nb", ""] {
      try bench.print()
      #expect(try bench.printed() == text)
    }
    try bench.append("c")
    try bench.print()
    #expect(try bench.printed() == "c")
  }

  // Fails if the incomplete line is printed above a live display, is not shown in it, or is not
  // printed at the end.
  @Test("above a display only complete lines are printed, and the last is available to it")
  func wholeLines() throws {
    var bench = try Bench()
    try bench.append("a\n10 %\r20 \u{1B}[1m%")
    try bench.print(wholeLines: true)
    #expect(try bench.printed() == "a\n")
    #expect(try bench.reader.openLine() == "20 %")
    try bench.append("\rdone\nb")
    try bench.print(wholeLines: true)
    #expect(try bench.printed() == "10 %\r20 \u{1B}[1m%\rdone\n")
    #expect(try bench.reader.openLine() == "b")
    try bench.print()
    #expect(try bench.printed() == "b" && bench.reader.openLine() == nil)
  }

  // Fails if a line is limited to what is read at once, 64 KiB.
  @Test("a line of any length is printed once, in full")
  func longLine() throws {
    var bench = try Bench()
    let line = String(repeating: "0123456789", count: 20_000)
    try bench.append(line)
    try bench.print(wholeLines: true)
    #expect(try bench.printed() == "")
    #expect(try bench.reader.openLine()?.count == 8192)
    try bench.append("\n\(line)")
    try bench.print(wholeLines: true)
    #expect(try bench.printed() == line + "\n")
    try bench.print()
    #expect(try bench.printed() == line)
  }

  // Fails if the log is opened anew for each part.
  @Test("a log that was opened stays readable after its deletion")
  func deleted() throws {
    var bench = try Bench()
    try bench.append("a\n")
    try bench.print()
    try bench.append("b\n")
    try FileSystem.remove(bench.log)
    try bench.print()
    #expect(try bench.printed() == "a\nb\n")
  }

  // Fails if the held-back line is printed although it was truncated, or the reader stays beyond the
  // end of the log: do not go back in `releaseLine`.
  @Test("a log that another process truncates is printed from its new end")
  func truncated() throws {
    var bench = try Bench()
    try bench.append("a\nbcd")
    try bench.print(wholeLines: true)
    try FileDescriptor.open(bench.log, .readWrite).truncate(to: 2)
    try bench.print()
    #expect(try bench.printed() == "a\n")
    try bench.append("e\n")
    try bench.print()
    #expect(try bench.printed() == "e\n")
  }

  // Fails if the log is read further although nothing of it can be printed.
  @Test("reading stops when the output has no reader any more")
  func readerIsGone() throws {
    var bench = try Bench()
    let size = 1 << 20
    try bench.append(String(repeating: "x", count: size))
    let readOnly = try FileDescriptor.open(bench.log, .read)
    var closed = Output(results: readOnly.raw)
    try bench.reader.print(to: &closed)
    #expect(closed.readerIsGone)
    try bench.print()
    #expect(try bench.printed().utf8.count == size - 1 << 16)
  }

  // Fails by an endless loop if `printOnce` reads up to the end of the file: a job that prints its own
  // log appends what it reads.
  @Test("a log that grows by being printed is printed once")
  func once() throws {
    var bench = try Bench()
    let text = String(repeating: "x", count: 100_000)
    try bench.append(text)
    let itself = try FileDescriptor.open(bench.log, .growing)
    var output = Output(results: itself.raw)
    try bench.reader.printOnce(to: &output)
    try output.flush()
    #expect(try content(bench.log).text == text + text)
  }

  // Fails if the whole file is read, or control characters are not escaped.
  @Test("the tail of a log is its last lines, escaped")
  func tail() throws {
    let bench = try Bench()
    #expect(try LogReader.tail(of: bench.log, lines: 2) == [])
    try bench.append("a\nb\u{7}\nc\n")
    #expect(try LogReader.tail(of: bench.log, lines: 2) == ["b^G", "c"])
    #expect(try LogReader.tail(of: bench.log, lines: 3, bytes: 3) == ["", "c"])
  }
}
