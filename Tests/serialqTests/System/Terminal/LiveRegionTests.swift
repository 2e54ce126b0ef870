import TestSupport
import Testing

@testable import SerialqSystem

@Suite struct LiveRegionTests {
  private func lines(_ texts: String...) -> [StyledLine] { texts.map { StyledLine($0, .bold) } }

  // Fails if a frame leaves parts of the previous one, or the cursor is not below it.
  @Test("a frame replaces the previous one, whatever their sizes")
  func repaint() {
    var screen = TestScreen(columns: 20)
    var region = LiveRegion()
    screen.send("$ serialq\r\n")
    let frames = [
      lines("one", "two two", "three"), lines("a"), [], lines("longer than that", "b"),
      lines("c", "", "d", "e"), lines("f", "g"),
    ]
    for frame in frames {
      screen.send(region.paint(frame, columns: 20, color: true))
      var expected = ["$ serialq"] + frame.map { $0.rendered(color: false) }
      while expected.last?.isEmpty == true { expected.removeLast() }
      #expect(screen.text == expected)
      #expect(screen.cursor == [1 + frame.count, 0])
    }
    #expect(screen.faults.isEmpty, "\(screen.faults)")
  }

  // Fails if output is drawn into the lines, or the lines are left behind in the output.
  @Test("output is printed above, and the lines move down")
  func above() {
    var screen = TestScreen(columns: 20)
    var region = LiveRegion()
    var random = SeededGenerator(seed: 7)
    var printed: [String] = []
    var shown: [StyledLine] = []
    for number in 0..<200 {
      if Bool.random(using: &random) {
        shown = (0..<Int.random(in: 1...4, using: &random)).map { StyledLine("\(number)-\($0)") }
        screen.send(region.paint(shown, columns: 20, color: false))
      } else {
        let text = "out \(number)\r\n"
        let all = shown.isEmpty ? Bytes(text.utf8) : region.above(Bytes(text.utf8), columns: 20)
        screen.send(all.text)
        printed.append("out \(number)")
      }
      #expect(screen.text == printed + shown.map { $0.rendered(color: false) })
    }
    screen.send(region.erase(columns: 20))
    #expect(screen.text == printed)
    #expect(screen.faults.isEmpty, "\(screen.faults)")
  }

  // Fails if each old line counts as one row: a narrower terminal has wrapped them.
  @Test("after the terminal became narrower, all rows of the old lines are overwritten")
  func narrower() {
    var region = LiveRegion()
    _ = region.paint(
      [StyledLine(String(repeating: "x", count: 79)), StyledLine(""), StyledLine("日本語")],
      columns: 80, color: false)
    let four = region.erase(columns: 40)
    #expect(four.hasPrefix("\r\u{1B}[4A") && four.hasSuffix("\r\u{1B}[4A"))
    _ = region.paint([StyledLine(String(repeating: "x", count: 40))], columns: 80, color: false)
    #expect(region.erase(columns: 40) == "\r\u{1B}[1A\u{1B}[K\u{1B}[B\u{1B}[K\r\u{1B}[1A")
    #expect(region.erase(columns: 40) == "")
  }

  // Fails if lines are overwritten in a terminal that has wrapped them: it rejoins them later.
  @Test("the first frame after a change of width is drawn on erased rows")
  func erased() {
    var region = LiveRegion()
    _ = region.paint(lines("abc"), columns: 80, color: false)
    let isErased = { (text: String) in text.hasPrefix("\r\u{1B}[1A\u{1B}[K") }
    #expect(isErased(region.paint(lines("ab"), columns: 40, color: false)))
    #expect(!isErased(region.paint(lines("cd"), columns: 40, color: false)))
    #expect(isErased(region.paint(lines("a"), columns: 40, color: false)))
    #expect(region.paint(lines("a"), columns: 80, color: false) != "")
  }

  // Fails if each tick draws, even without a change: the terminal flickers, and a selection in it
  // is lost.
  @Test("identical lines are not drawn again")
  func same() {
    var region = LiveRegion()
    #expect(region.paint(lines("a"), columns: 80, color: false) != "")
    #expect(region.paint(lines("a"), columns: 80, color: false) == "")
    #expect(region.paint(lines("b"), columns: 80, color: false) != "")
  }
}
