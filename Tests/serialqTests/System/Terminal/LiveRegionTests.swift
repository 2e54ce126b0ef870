import TestSupport
import Testing

@testable import SerialqSystem

@Suite struct LiveRegionTests {
  private func lines(_ texts: String...) -> [StyledLine] { texts.map { StyledLine($0, .bold) } }

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
