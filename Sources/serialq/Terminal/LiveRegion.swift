/// Lines at the bottom of what was printed that are drawn over and over: which bytes bring the
/// screen from what it shows to what it is to show.
///
/// - *none* on the screen → shown (painted)
/// - *shown* → shown (painted again, or moved down by what is printed above) | none (erased)
///
/// The cursor rests at the start of the row below the last line. So nothing has to be put right
/// when the program is killed: the shell's prompt comes where it belongs. For the same reason the
/// cursor is not hidden, and the terminal's modes are left alone.
struct LiveRegion: Equatable {
  /// What is on the screen.
  private(set) var lines: [StyledLine] = []
  private(set) var colour = false
  /// How wide the terminal was then.
  private var columns = 0

  private static let eraseToEndOfLine = "\u{1B}[K"
  private static let eraseBelow = "\u{1B}[J"
  private static let plain = "\u{1B}[m"

  /// Replaces what is shown, on a terminal of so many columns; nothing if that is the same.
  ///
  /// Each line is drawn over the old one and only then is the rest of it erased, so nothing
  /// flickers.
  mutating func paint(_ new: [StyledLine], columns: Int, colour: Bool) -> String {
    guard new != lines || columns != self.columns else { return "" }
    guard !new.isEmpty else { return erase(columns: columns) }
    var text = start(columns: columns)
    // A row that a terminal broke when it became narrower counts as one with the next row until it
    // is erased; drawn over, both would become one again when it gets wider.
    if columns != self.columns { text += Self.eraseBelow }
    lines = new
    self.columns = columns
    self.colour = colour
    return text + painted
  }

  /// Prints `text`, which ends its last line, above the lines, which move down.
  func above(_ text: Bytes, columns: Int) -> Bytes {
    Bytes((start(columns: columns) + Self.eraseBelow).utf8) + text + Bytes(painted.utf8)
  }

  /// Takes the lines away; the cursor is then where the first of them began.
  mutating func erase(columns: Int) -> String {
    guard !lines.isEmpty else { return "" }
    let text = start(columns: columns) + Self.eraseBelow
    lines = []
    return text
  }

  /// Moves the cursor to the first row of what is shown.
  ///
  /// A terminal that has become narrower has broken the lines anew, so each takes as many rows as
  /// it now needs.
  private func start(columns: Int) -> String {
    let rows = lines.reduce(0) { rows, line in
      rows + max(1, (line.width + columns - 1) / max(1, columns))
    }
    return rows > 0 ? "\r\u{1B}[\(rows)A" : "\r"
  }

  private var painted: String {
    // A job may have left its own colour switched on.
    Self.plain
      + lines.map { "\($0.rendered(colour: colour))\(Self.eraseToEndOfLine)\r\n" }.joined()
      + Self.eraseBelow
  }
}
