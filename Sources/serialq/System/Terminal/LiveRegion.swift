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
  private static let down = "\u{1B}[B"
  private static let plain = "\u{1B}[m"

  /// Replaces what is shown, on a terminal of so many columns; nothing if that is the same.
  ///
  /// In the usual case, such as a time that has grown, each line is drawn over the old one, so
  /// nothing flickers.
  mutating func paint(_ new: [StyledLine], columns: Int, colour: Bool) -> String {
    guard new != lines || columns != self.columns else { return "" }
    guard !new.isEmpty else { return erase(columns: columns) }
    // A row that a terminal broke when it became narrower counts as one with the next row until it
    // is erased; drawn over, both would become one again when it gets wider.
    //
    // And of a longer line that is drawn over, a terminal can keep the rest as blanks, which take
    // rows of their own when it becomes narrower.
    let isErased =
      columns != self.columns || new.count < rows(columns: columns)
      || zip(lines, new).contains { $0.width > $1.width }
    let start = isErased ? erase(columns: columns) : start(columns: columns)
    lines = new
    self.columns = columns
    self.colour = colour
    return start + painted
  }

  /// Prints `text`, which ends its last line, above the lines, which move down.
  func above(_ text: Bytes, columns: Int) -> Bytes {
    var old = self
    return Bytes(old.erase(columns: columns).utf8) + text + Bytes(painted.utf8)
  }

  /// Takes the lines away; the cursor is then where the first of them began.
  ///
  /// Row by row: what erases everything below at once may be taken for clearing the screen, and the
  /// lines would be kept among what has gone out of it.
  mutating func erase(columns: Int) -> String {
    let rows = rows(columns: columns)
    guard rows > 0 else { return "" }
    defer { lines = [] }
    let erased = String(repeating: Self.eraseToEndOfLine + Self.down, count: rows)
    return start(columns: columns) + erased + Self.eraseToEndOfLine + start(columns: columns)
  }

  /// Moves the cursor from below what is shown to its first row.
  private func start(columns: Int) -> String {
    let rows = rows(columns: columns)
    return rows > 0 ? "\r\u{1B}[\(rows)A" : "\r"
  }

  /// How many rows are shown: a terminal that has become narrower has broken the lines anew, so each
  /// takes as many as it now needs.
  private func rows(columns: Int) -> Int {
    lines.reduce(0) { $0 + max(1, ($1.width + columns - 1) / max(1, columns)) }
  }

  private var painted: String {
    // A job may have left its own colour switched on.
    Self.plain
      + lines.map { "\($0.rendered(colour: colour))\(Self.eraseToEndOfLine)\r\n" }.joined()
      // What was typed meanwhile.
      + Self.eraseToEndOfLine
  }
}
