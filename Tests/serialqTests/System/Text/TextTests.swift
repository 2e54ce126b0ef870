import Foundation
@testable import SerialqQueue
import TestSupport
import Testing

@testable import SerialqSystem

@Suite struct TextTests {
  // Fails if a control character is printed, or the notation changes.
  @Test("control sequences are shown escaped")
  func visible() {
    #expect(Visible.text(Bytes("a\u{1B}[31m\n\u{7F}é日")) == "a^[[31m^J^?é日")
    #expect(Visible.text(Bytes("\u{202E}\u{85}")) == "<U+202E><U+0085>")
    #expect(Visible.text([0x61, 0xFF, 0x80]) == "a<FF><80>")
  }

  // Fails if an escape decodes to another character, or the line end is escaped.
  @Test("control sequences are escaped in JSON, and decode to the same text")
  func json() throws {
    let text = "a\u{7F}\u{9B}\u{202E}\u{E0001}\u{E000}é日\"\\"
    var json = JSONWriter()
    json.array { $0.string(text) }
    json.endLine()
    let shown = Visible.json(json.bytes)
    #expect(shown.text == #"["a\u007F\u009B\u202E\uDB40\uDC01\uE000é日\"\\"]"# + "\n")
    #expect(try JSONSerialization.jsonObject(with: Data(shown)) as? [String] == [text])
  }

  // Fails if the final newline counts as a line, or a carriage return is shown as such.
  @Test("the end of a log is shown as a terminal would show it")
  func lastLines() {
    #expect(Visible.lastLines(2, of: Bytes("a\nb\nc\n")) == ["b", "c"])
    #expect(Visible.lastLines(5, of: Bytes("a\n\nb")) == ["a", "", "b"])
    #expect(Visible.lastLines(1, of: Bytes("10%\r50%\r99%\r")) == ["99%"])
    #expect(Visible.lastLines(1, of: Bytes("a\r\n")) == ["a"])
    #expect(Visible.lastLines(1, of: Bytes("\ta\tbc\u{1B}\td")) == [" a bc^[ d"])
    #expect(Visible.lastLines(3, of: []) == [])
  }

  // Fails if a color is shown, or another sequence is dropped.
  @Test("color sequences are dropped from the end of a log, other control characters shown")
  func colors() {
    func last(_ text: String) -> String? { Visible.lastLines(1, of: Bytes(text.utf8)).last }
    #expect(last("\u{1B}[1;31merror\u{1B}[0m: \u{1B}[mx\u{1B}[38:2:1:2:3my") == "error: xy")
    #expect(last("\u{1B}[01;31m\u{1B}[Kmatch\u{1B}[m\u{1B}[K end") == "match end")
    #expect(last("\u{1B}[2J\u{1B}[31\u{1B}]0;t\u{7}") == "^[[2J^[[31^[]0;t^G")
    #expect(last("\u{1B}]0;t\u{7}x\u{1B}[1m\u{1B}(By\u{1B}[0Kz\u{1B}[3") == "^[]0;t^Gx^[(Byz^[[3")
    #expect(last("a\u{1B}") == "a^[")
    #expect(last("a\u{1B}[") == "a^[[")
  }

  // Fails if a text that fits is cut, or a long one is printed whole.
  @Test("long texts are cut, and messages are bounded")
  func bounds() {
    #expect("日本語".cut(to: 6) == "日本語")
    #expect("日本語".cut(to: 5) == "日本…")
    #expect("abc".cut(to: 3) == "abc")
    let long = String(repeating: "x", count: 100_000)
    let failure = Failure(long, long, next: "n")
    #expect(failure.description.utf8.count < 3_000)
    #expect(failure.sentence.hasSuffix("x…"))
    var table = Columns(headings: [.left("A"), .left("B")])
    table.append(["1", "abcdef"])
    #expect(table.rendered(color: false, width: 6) == "A  B\n1  ab…\n")
  }

  // Fails if a date is formatted in UTC although the system has another zone, or with a rounding
  // error before 1970.
  @Test("dates for people are local times")
  func localTimes() throws {
    for microseconds in [1_800_000_000_000_000, -1, 0, 1_774_746_000_000_000] as [Int64] {
      let moment = Timestamp(microseconds: microseconds)
      let date = Date(timeIntervalSince1970: (Double(microseconds) / 1e6).rounded(.down))
      let format = DateFormatter()
      format.locale = Locale(identifier: "en_US_POSIX")
      format.timeZone = .current
      format.dateFormat = "yyyy-MM-dd HH:mm:ss"
      #expect("\(moment.day) \(moment.time)" == format.string(from: date))
      #expect(Humanize.moment(moment).hasSuffix(" \(moment.zone)"))
    }
  }

  // Fails if a range is missing from the table of wide characters.
  @Test("wide characters take two columns and combining ones none")
  func widths() {
    #expect(DisplayWidth.of("abc") == 3)
    #expect(DisplayWidth.of("日本") == 4)
    #expect(DisplayWidth.of("e\u{301}") == 1)
    #expect(DisplayWidth.of("한") == 2)
    #expect(DisplayWidth.of("Ａ") == 2)
    #expect(DisplayWidth.of("🙂") == 2)
    #expect(DisplayWidth.of("") == 0)
  }

  // Fails if an empty column keeps its heading, or a line ends in spaces.
  @Test("a table omits empty columns and pads by visible width")
  func columns() {
    let headings = [
      Columns.Heading.right("ID"), .left("LABEL"), .left("NOTE"), .left("COMMAND"),
    ]
    var table = Columns(headings: headings)
    #expect(table.rendered(color: false) == "")
    table.append(["9", "日本", "", "make"])
    table.append(["10", "ab", "", "ls"])
    table.append(["11", "x", "", ""])
    #expect(
      table.rendered(color: false) == """
        ID  LABEL  COMMAND
         9  日本   make
        10  ab     ls
        11  x

        """
    )
  }

  // Fails if the bytes of a color count as width, or are printed when colors are off.
  @Test("color does not change the layout")
  func color() {
    var table = Columns(headings: [.left("S"), .left("C")])
    table.append([.init("failed", .red), "a"])
    table.append(["ok", "b"])
    #expect(table.rendered(color: false) == "S       C\nfailed  a\nok      b\n")
    let colored = table.rendered(color: true)
    #expect(colored.hasSuffix("\u{1B}[31mfailed\u{1B}[0m  a\nok      b\n"))
  }

  // Fails if a duration is rounded up: 59.99 s would be "60s".
  @Test("durations are formatted for reading")
  func durations() {
    let expected: [(Duration, String)] = [
      (.zero, "0.0s"), (.milliseconds(-500), "0.0s"), (.milliseconds(380), "0.3s"),
      (.milliseconds(9_999), "9.9s"), (.seconds(12), "12s"), (.milliseconds(59_999), "59s"),
      (.seconds(245), "4m 05s"), (.seconds(3_599), "59m 59s"), (.seconds(7_380), "2h 03m"),
      (.seconds(86_399), "23h 59m"), (.seconds(273_600), "3d 04h"),
    ]
    for (duration, text) in expected {
      #expect(Humanize.duration(duration) == text)
    }
  }

  // Fails if tenths of a second are shown for a time that is updated every second.
  @Test("growing times are shown in whole seconds")
  func growing() {
    let expected: [(Duration, String)] = [
      (.milliseconds(-1), "0s"), (.milliseconds(999), "0s"), (.milliseconds(9_999), "9s"),
      (.seconds(10), "10s"), (.seconds(65), "1m 05s"), (.seconds(7_380), "2h 03m"),
    ]
    for (duration, text) in expected { #expect(Humanize.seconds(duration) == text) }
  }

  // Fails if an estimate is given to the second, or rounded down: late is worse than early.
  @Test("estimates are rounded up to their precision")
  func guessed() {
    let expected: [(Duration, String)] = [
      (.zero, "1s"), (.milliseconds(1), "1s"), (.milliseconds(1_001), "2s"),
      (.milliseconds(2_001), "5s"), (.milliseconds(5_001), "10s"), (.seconds(10), "10s"),
      (.milliseconds(10_001), "20s"), (.seconds(50), "50s"), (.seconds(51), "1m"),
      (.seconds(61), "2m"), (.seconds(3_540), "59m"), (.seconds(3_541), "1h 00m"),
      (.seconds(3_601), "1h 10m"), (.seconds(90_000), "1d 01h"),
    ]
    for (duration, text) in expected { #expect(Humanize.about(duration) == text, "\(duration)") }
  }

  // Fails if the product of number and unit is not bounded, or a sign is accepted.
  @Test("durations are parsed, and anything else is refused")
  func parsing() {
    #expect(Humanize.parseDuration(Bytes("90")) == 90)
    #expect(Humanize.parseDuration(Bytes("90s")) == 90)
    #expect(Humanize.parseDuration(Bytes("30m")) == 1_800)
    #expect(Humanize.parseDuration(Bytes("2h")) == 7_200)
    #expect(Humanize.parseDuration(Bytes("7d")) == 604_800)
    #expect(Humanize.parseDuration(Bytes("0")) == 0)
    #expect(Humanize.parseDuration(Bytes("1h30m")) == 5_400)
    #expect(Humanize.parseDuration(Bytes("1d2h3m4s")) == 93_784)
    #expect(Humanize.parseDuration(Bytes("2h5s")) == 7_205)
    #expect(Humanize.parseDuration(Bytes("36500d")) == 3_153_600_000)
    let wrong = [
      "", "s", "-1", "+1", "1 h", "5w", "0x1", "1h30", "30m1h", "1h1h", "h", "1hm", "1H", "1h 30m",
    ]
    for text in wrong {
      #expect(Humanize.parseDuration(Bytes(text.utf8)) == nil, "\(text)")
    }
    let long = [
      "36501d", "36500d1s", "36500.1d", "9223372036854775807d", "99999999999999999999",
      "99999999999999999999d99999999999999999999h",
    ]
    for text in long {
      #expect(Humanize.parseDuration(Bytes(text.utf8)) ?? 0 > Humanize.longest, "\(text)")
    }
  }

  // Fails if the unit is one of 1000, a product overflows, or a size is formatted in a unit that
  // does not divide it.
  @Test("sizes are parsed, and formatted as they are parsed")
  func sizes() {
    let sizes: [(String, Int64)] = [
      ("0", 0), ("1", 1), ("1023", 1_023), ("1K", 1_024), ("1025", 1_025), ("512K", 524_288),
      ("10M", 10_485_760), ("1G", 1_073_741_824), ("1025K", 1_049_600), ("1024T", 1 << 50),
    ]
    for (text, bytes) in sizes {
      #expect(Humanize.parseSize(Bytes(text.utf8)) == bytes, "\(text)")
      #expect(Humanize.size(bytes) == text)
    }
    #expect(Humanize.parseSize(Bytes("1024K")) == 1 << 20)
    for (bytes, text): (Int64, String) in [
      (0, "0 bytes"), (1_023, "1023 bytes"), (1_535, "1.4K"), (1_536, "1.5K"), (1 << 50, "1024.0T"),
    ] {
      #expect(Humanize.about(bytes: bytes) == text)
    }
    let wrong = [
      "", "K", "-1", "+1K", "1 K", "1k", "1KB", "1.5M", "0x1", "1025T", "9223372036854775807K",
      "99999999999999999999",
    ]
    for text in wrong { #expect(Humanize.parseSize(Bytes(text.utf8)) == nil, "\(text)") }
  }

  // Fails if a fraction is rounded down: a limit of half a second would mean none.
  @Test("a fraction of the last unit is accepted, and rounded up to a second")
  func fractions() {
    let expected: [(String, Int64)] = [
      ("1.5h", 5_400), ("1.5", 2), ("0.5", 1), ("0.0", 0), ("0.25d", 21_600), ("1h1.5m", 3_690),
      ("2.000000001s", 3), ("0.999999999d", 86_400),
    ]
    for (text, seconds) in expected {
      #expect(Humanize.parseDuration(Bytes(text.utf8)) == seconds, "\(text)")
    }
    for text in ["1.5h30m", ".5", "1.", "1.5.5", "1.0000000001", "1,5", "1e3"] {
      #expect(Humanize.parseDuration(Bytes(text.utf8)) == nil, "\(text)")
    }
  }
}
