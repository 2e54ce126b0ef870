import SerialqSystem

/// The text of a job that had a terminal, all of it or the last lines.
///
/// Pure; see ``TerminalText``.
package struct LogText: Sendable {
  /// The lines of a large terminal: a program that moves to lines above stays within them.
  package static let screen = 64

  private let keepsStyle: Bool
  private let window: Int
  private var text: TerminalText
  /// How many lines are left out before the first one.
  private var skipped = 0

  /// With a `window` of 1 lines are printed as they end, for a reader that follows them.
  package init(keepsStyle: Bool, window: Int = LogText.screen) {
    self.keepsStyle = keepsStyle
    self.window = window
    text = TerminalText(keepsStyle: keepsStyle, window: window)
  }

  /// The same text from another place on: its start, or `isCut`.
  func starting(isCut: Bool, after lines: Int = 0) -> LogText {
    var start = LogText(keepsStyle: keepsStyle, window: window)
    start.text = TerminalText(keepsStyle: keepsStyle, window: window, isCut: isCut)
    start.skipped = lines
    return start
  }

  /// Returns the lines that are now complete.
  mutating func convert(_ bytes: Bytes) -> Bytes { withoutSkipped(text.convert(bytes)) }

  /// Returns the rest, which includes the incomplete last line.
  mutating func finish() -> Bytes { withoutSkipped(text.finish()) }

  private mutating func withoutSkipped(_ lines: Bytes) -> Bytes {
    var rest = lines[...]
    while skipped > 0, let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      rest = rest[(end + 1)...]
      skipped -= 1
    }
    return skipped > 0 ? [] : Bytes(rest)
  }
}
