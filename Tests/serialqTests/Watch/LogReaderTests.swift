@testable import SerialqRunner
@testable import SerialqSystem
@testable import SerialqWatch
import Testing

@Suite struct LogReaderTests {
  /// A log, and the file to which it is printed.
  private struct Bench {
    let folder: TemporaryFolder
    let log: Bytes
    private let path: Bytes
    private let target: FileDescriptor
    var reader: LogReader
    var output: Output

    init(hasTerminal: Bool = false, _ text: TerminalText? = nil) throws {
      folder = try TemporaryFolder()
      log = folder.path("log")
      reader = LogReader(log, TerminalRestorer(), hasTerminal: hasTerminal, text: text)
      path = folder.path("printed")
      target = try FileDescriptor.open(path, .log)
      output = Output(results: target.raw)
    }

    func append(_ text: String) throws {
      try FileDescriptor.open(log, .log).writeAll(Bytes(text.utf8))
    }

    mutating func print(wholeLines: Bool = false, isLast: Bool = false) throws {
      try reader.print(to: &output, wholeLines: wholeLines, isLast: isLast)
    }

    /// What was printed since the last call.
    func printed() throws -> String {
      defer { try? target.truncate(to: 0) }
      return try bytes().text
    }

    func bytes() throws -> Bytes { try content(path) }
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

  // Fails if the held-back line is printed although it was truncated, or the reader stays beyond
  // the end of the log: do not go back in `releaseLine`.
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

  // Fails if the last line end starts a line, a line across two reads is missed, or bytes are
  // converted to text: start at `end` in `LogReader.start(ofLast:before:)`.
  @Test("the last lines of any bytes are printed, and a last line without a line end is one")
  func lastLines() throws {
    // One line is longer than a read, and one line end is the first byte of a read.
    let long = String(repeating: "x", count: 70_000)
    let logs: [Bytes] = [
      Bytes("a\nb\nc\n".utf8), Bytes("a\nb\nc".utf8), Bytes("a\n\n\n".utf8), Bytes("\n".utf8), [],
      [0xFF, 0x0A, 0x00, 0x0D, 0x0A, 0xC3], Bytes("a\n\(long)\nb\n".utf8),
      Bytes("a\n\(long.prefix(65_536))\n".utf8), Bytes("a\n\(long.prefix(65_535))\n".utf8),
    ]
    for (index, log) in logs.enumerated() {
      let ended = log.last == 0x0A || log.isEmpty
      let lines = log.split(separator: 0x0A, omittingEmptySubsequences: false).map { $0 + [0x0A] }
      for count in [1, 2, 3, 4, 1_000_000_000] {
        var bench = try Bench()
        try FileDescriptor.open(bench.log, .log).writeAll(log)
        try bench.reader.printOnce(to: &bench.output, lines: count)
        try bench.output.flush()
        let last = Bytes((ended ? lines.dropLast() : lines[...]).suffix(count).joined())
        #expect(try bench.bytes() == (ended ? last : last.dropLast()), "log \(index), \(count)")
      }
    }
  }

  // Fails if the whole file is read, a color is shown, or control characters are not escaped.
  @Test("the tail of a log is its last lines, escaped")
  func tail() throws {
    let bench = try Bench()
    #expect(try LogReader.tail(of: bench.log, lines: 2) == [])
    try bench.append("a\n\u{1B}[31mb\u{1B}[m\u{7}\nc\n")
    #expect(try LogReader.tail(of: bench.log, lines: 2) == ["b^G", "c"])
    #expect(try LogReader.tail(of: bench.log, lines: 3, bytes: 3) == ["", "c"])
  }

  // MARK: The text of a terminal

  // Fails if a state of a line is printed that is not its last, or the last line is lost.
  @Test("a follower prints the text of a terminal line by line, and the incomplete line at the end")
  func textLines() throws {
    var bench = try Bench(hasTerminal: true, TerminalText(keepsStyle: false))
    for (appended, printed) in [
      ("a\r\n10%", "a\n"), ("\r20%\r", ""), ("\u{1B}[31m30%\u{1B}[m\r\nb\u{1B}", "30%\n"),
      ("[1K", ""),
    ] {
      try bench.append(appended)
      try bench.print()
      #expect(try bench.printed() == printed)
    }
    try bench.append("c")
    try bench.print(isLast: true)
    #expect(try bench.printed() == " c")
    // The next attempt continues the log.
    try bench.append("d\r\n")
    try bench.print(isLast: true)
    #expect(try bench.printed() == "d\n")
  }

  // Fails if the bytes of a terminal are shown in the display.
  @Test("the incomplete line of a terminal is its text")
  func textOpenLine() throws {
    var bench = try Bench(hasTerminal: true)
    try bench.append("a\r\n10%\r\u{1B}[K\u{1B}[32m20%\u{8}!")
    try bench.print(wholeLines: true)
    #expect(try bench.printed() == "a\r\n" && bench.reader.openLine() == "20!")
  }

  // Fails if a state of a line counts as a line, or a part of an editor's screen is printed.
  @Test("the last lines of a terminal's text are printed")
  func textLastLines() throws {
    let bar = "a\r\n" + String(repeating: "\r50%", count: 50_000)
    let editor = "a\r\n\u{1B}[?1049h~\r\n~\r\ntext\u{1B}[?1049l"
    for (log, lines, expected) in [
      (bar, 5, "a\n50%"), (bar, 1, "50%"), ("a\r\nb\r\nc\r\n", 2, "b\nc\n"),
      ("\(editor)b\r\nc", 2, "b\nc"), ("\(editor)b\r\nc", 9, "a\nb\nc"),
      ("\(editor)b\r\nc", 3, "b\nc"),
    ] {
      var bench = try Bench(hasTerminal: true, TerminalText(keepsStyle: false))
      try bench.append(log)
      try bench.reader.printOnce(to: &bench.output, lines: lines)
      #expect(try bench.printed() == expected, "\(expected)")
    }
  }

  // Fails if the lines that are left out before are printed when more is appended, or others are
  // left out too.
  @Test("a follower begins with the last lines of a terminal's text")
  func textSkip() throws {
    for (lines, expected) in [(1, "20%\n"), (2, "a\n20%\n"), (9, "a\n20%\n")] {
      var bench = try Bench(hasTerminal: true, TerminalText(keepsStyle: false))
      try bench.append("a\r\n10%\r")
      try bench.reader.skip(toLast: lines)
      try bench.append("20%\r\n")
      try bench.print()
      #expect(try bench.printed() == expected)
      try bench.append("c\r\n")
      try bench.print()
      #expect(try bench.printed() == "c\n")
    }
  }

  // Fails if control sequences are shown, or only a few states of a progress bar are read.
  @Test("the tail of a terminal's log is its text")
  func textTail() throws {
    let bench = try Bench()
    let bar = (0..<1_000).map { "\r\u{1B}[K\u{1B}[32m\($0) of 1000\u{1B}[m" }.joined()
    try bench.append("a\r\nb\tc\r\n\(bar)\r\n")
    #expect(
      try LogReader.tail(of: bench.log, lines: 3, hasTerminal: true) == [
        "a", "b c", "999 of 1000",
      ])
    try bench.append(String(repeating: "long ", count: 4_000))
    let tail = try LogReader.tail(of: bench.log, lines: 1, bytes: 100, hasTerminal: true)
    #expect(tail == [String(repeating: "long ", count: 20)])
    // The start of the editor is not read.
    try bench.append("\r\n\u{1B}[?1049h\(bar)~\(bar)~\(bar)\u{1B}[?1049lafter")
    #expect(try LogReader.tail(of: bench.log, lines: 2, hasTerminal: true) == ["after"])
  }
}
