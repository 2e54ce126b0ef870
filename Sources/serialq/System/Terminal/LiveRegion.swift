/// Lines below the output that are redrawn in place; returns the bytes that update the screen.
///
/// - *none* on the screen → shown (painted)
/// - *shown* → shown (repainted, or moved down by output above) | none (erased)
///
/// The cursor stays at the start of the row below the last line, is not hidden, and the terminal
/// modes are unchanged. So a killed program leaves nothing to restore, and the prompt of the shell
/// appears below.
struct LiveRegion: Equatable {
  private(set) var lines: [StyledLine] = []
  private(set) var color = false
  /// The width of the terminal at the last paint.
  private var columns = 0

  private static let eraseToEndOfLine = "\u{1B}[K"
  private static let down = "\u{1B}[B"
  private static let plain = "\u{1B}[m"

  /// Replaces the lines on a terminal with this many columns; returns nothing if they are
  /// unchanged.
  ///
  /// Overwrites the lines in place where possible, such as for an elapsed time, to avoid flicker.
  mutating func paint(_ new: [StyledLine], columns: Int, color: Bool) -> String {
    guard new != lines || columns != self.columns else { return "" }
    guard !new.isEmpty else { return erase(columns: columns) }
    // A terminal that gets narrower wraps a row, and treats both parts as one line until they are
    // erased. Overwritten parts would be joined again when it gets wider.
    //
    // When a shorter line overwrites a longer one, some terminals keep the rest as blanks, which
    // wrap to extra rows when the terminal gets narrower.
    let isErased =
      columns != self.columns || new.count < rows(columns: columns)
      || zip(lines, new).contains { $0.width > $1.width }
    let start = isErased ? erase(columns: columns) : start(columns: columns)
    lines = new
    self.columns = columns
    self.color = color
    return start + painted
  }

  /// Prints `text`, which must end with a newline, above the lines and moves them down.
  func above(_ text: Bytes, columns: Int) -> Bytes {
    var old = self
    return Bytes(old.erase(columns: columns).utf8) + text + Bytes(painted.utf8)
  }

  /// Erases the lines and leaves the cursor at the start of the first.
  ///
  /// Erases row by row: some terminals treat "erase below" as clearing the screen and save the
  /// lines to the scrollback.
  mutating func erase(columns: Int) -> String {
    let rows = rows(columns: columns)
    guard rows > 0 else { return "" }
    defer { lines = [] }
    let erased = String(repeating: Self.eraseToEndOfLine + Self.down, count: rows)
    return start(columns: columns) + erased + Self.eraseToEndOfLine + start(columns: columns)
  }

  /// Moves the cursor from below the lines to their first row.
  private func start(columns: Int) -> String {
    let rows = rows(columns: columns)
    return rows > 0 ? "\r\u{1B}[\(rows)A" : "\r"
  }

  /// The number of rows in use: a terminal that got narrower has wrapped the lines.
  private func rows(columns: Int) -> Int {
    lines.reduce(0) { $0 + max(1, ($1.width + columns - 1) / max(1, columns)) }
  }

  private var painted: String {
    // A job may have left its own color active.
    Self.plain
      + lines.map { "\($0.rendered(color: color))\(Self.eraseToEndOfLine)\r\n" }.joined()
      // Erases characters typed in the meantime.
      + Self.eraseToEndOfLine
  }
}
