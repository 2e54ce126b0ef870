@testable import SerialqRunner
import SerialqSystem
import Testing

/// Which part of a long log is dropped.
@Suite struct LogLimitTests {
  private func cut(_ log: Bytes, _ limit: Int) -> Bytes {
    let part = Int(LogLimit.part(of: limit))
    let cut = LogLimit(
      limit, start: Bytes(log.prefix(part)), end: Bytes(log.suffix(part)), size: Int64(log.count))
    return log.prefix(Int(cut.head)) + cut.notice + log.dropFirst(Int(cut.tail))
  }

  // Fails if a line is cut although the limit falls between lines, or the count is wrong: search
  // for the line end in the whole log.
  @Test("the start and the end of the log are kept, and only whole lines")
  func lines() {
    let lines = (1...1_000).map { Bytes("line \($0)\n".utf8) }
    let result = cut(Bytes(lines.joined()), 1_024)
    let kept = result.split(separator: UInt8(ascii: "\n")).map { Bytes($0).text }
    let notice = kept.firstIndex { $0.hasPrefix("serialq: ") } ?? 0
    #expect(kept[..<notice] == (1...notice).map { "line \($0)" }[...])
    let rest = kept[(notice + 1)...]
    #expect(Array(rest) == (1_001 - rest.count...1_000).map { "line \($0)" })
    let dropped = lines[notice..<1_000 - rest.count].map(\.count).reduce(0, +)
    #expect(kept[notice] == "serialq: \(dropped) bytes dropped here (log-limit 1K)")
    #expect(notice > 40 && rest.count > 40)
    #expect(result.count <= 1_024)
  }

  // Fails if a long line is dropped whole: next to nothing would remain of one end.
  @Test("of a long line next to the dropped part, a part is kept")
  func longLines() {
    let long = ["a", "b"].map { String(repeating: $0, count: 8_000) }
    let lines = ["first"] + long + ["last\n"]
    let result = cut(Bytes(lines.joined(separator: "\n").utf8), 10_240)
    #expect(result.count <= 10_240 && result.count > 10_000)
    let starts = result.text.split(separator: "\n").map(\.first)
    #expect(starts == ["f", "a", "s", "b", "l"])
  }

  // Fails if the log becomes longer than the limit, so that it is cut again, or the line about it
  // does not stand alone.
  @Test(
    "a log without line ends is cut too, and the result is within the limit",
    arguments: [1_024, 1_025, 4_096, 1 << 20])
  func noLines(limit: Int) {
    for end in ["", "\n"] {
      let log = Bytes(repeating: UInt8(ascii: "x"), count: limit + 1) + Bytes(end.utf8)
      let result = cut(log, limit)
      #expect(result.count <= limit)
      let lines = result.text.split(separator: "\n", omittingEmptySubsequences: true)
      #expect(lines.count == 3 && lines[1].hasPrefix("serialq: "))
      #expect(result.text.hasSuffix("x" + end))
    }
  }
}
