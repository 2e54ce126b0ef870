/// A line of text whose columns can be overwritten, as on a terminal.
///
/// Pure. Characters are at their columns: a wide one and a tab occupy several.
struct TextLine: Sendable {
  /// The most columns; longer text continues on the next line.
  static let longest = 1 << 16

  /// A column: a Unicode scalar, or one of the following.
  private typealias Cell = UInt32

  /// The rest of a wide character or a tab on the left.
  private static let rest: Cell = 0
  private static let space = Cell(UInt8(ascii: " "))
  private static let tab = Cell(UInt8(ascii: "\t"))
  /// The place of a character with combining marks in `clusters`.
  private static let cluster: Cell = 1 << 31
  /// A byte that is not UTF-8.
  private static let invalid: Cell = 1 << 30
  /// The longest character with its marks, in bytes; more marks are dropped.
  private static let longestCluster = 64

  private var cells: [Cell] = []
  /// The styles of the first cells; the others are plain.
  private var styles: [TextStyle] = []
  private var clusters: [Bytes] = []
  /// Whether text was overwritten or erased; then spaces at the end are what covers other text.
  private var isRedrawn = false

  var columns: Int { cells.count }

  var isBlank: Bool { cells.allSatisfy { $0 == Self.space } }

  /// Makes the line empty, and keeps its memory.
  mutating func clear() {
    cells.removeAll(keepingCapacity: true)
    styles.removeAll(keepingCapacity: true)
    clusters.removeAll(keepingCapacity: true)
    isRedrawn = false
  }

  // MARK: Writing

  /// Writes one character for each byte; returns the column after them.
  mutating func write(
    ascii text: Slice<UnsafeBufferPointer<UInt8>>, at column: Int, _ style: TextStyle
  ) -> Int {
    prepare(column..<column + text.count)
    let overlap = min(text.count, cells.count - column)
    for (offset, byte) in text.prefix(overlap).enumerated() { cells[column + offset] = Cell(byte) }
    cells.append(contentsOf: text.dropFirst(overlap).lazy.map(Cell.init))
    return paint(column..<column + text.count, style)
  }

  /// Writes a character of this width; returns the column after it.
  mutating func write(
    _ scalar: UnicodeScalar, width: Int, at column: Int, _ style: TextStyle
  ) -> Int {
    write(scalar.value, width: width, at: column, style)
  }

  mutating func write(invalid byte: UInt8, at column: Int, _ style: TextStyle) -> Int {
    write(Self.invalid | Cell(byte), width: 1, at: column, style)
  }

  private mutating func write(
    _ cell: Cell, width: Int, at column: Int, _ style: TextStyle
  ) -> Int {
    prepare(column..<column + width)
    for index in column..<column + width {
      let cell = index == column ? cell : Self.rest
      if index < cells.count { cells[index] = cell } else { cells.append(cell) }
    }
    return paint(column..<column + width, style)
  }

  /// Returns the column of the next tab stop; at the end of the line the tab becomes a part of it.
  mutating func tab(at column: Int, _ style: TextStyle) -> Int {
    let width = 8 - column % 8
    guard column >= cells.count else { return column + width }
    return write(Self.tab, width: width, at: column, style)
  }

  /// Adds a combining mark to the character before `column`; returns whether there is one.
  mutating func attach(_ mark: UnicodeScalar, before column: Int) -> Bool {
    guard column > 0, column <= cells.count else { return false }
    var index = column - 1
    while index > 0, cells[index] == Self.rest { index -= 1 }
    if cells[index] & Self.cluster == 0 {
      if clusters.count > 2 * cells.count { dropOverwrittenClusters() }
      var base = Bytes()
      append(cells[index], to: &base)
      clusters.append(base)
      cells[index] = Self.cluster | Cell(clusters.count - 1)
    }
    let place = Int(cells[index] ^ Self.cluster)
    let bytes = UTF8.encode(mark) ?? UTF8.encodedReplacementCharacter
    if clusters[place].count + bytes.count <= Self.longestCluster { clusters[place] += bytes }
    return true
  }

  private mutating func dropOverwrittenClusters() {
    var kept: [Bytes] = []
    for index in cells.indices where cells[index] & Self.cluster != 0 {
      kept.append(clusters[Int(cells[index] ^ Self.cluster)])
      cells[index] = Self.cluster | Cell(kept.count - 1)
    }
    clusters = kept
  }

  /// Makes room for text in these columns.
  private mutating func prepare(_ columns: Range<Int>) {
    if columns.lowerBound < cells.count {
      isRedrawn = true
      split(at: columns.lowerBound)
      split(at: columns.upperBound)
    } else if columns.lowerBound > cells.count {
      let gap = columns.lowerBound - cells.count
      cells.append(contentsOf: repeatElement(Self.space, count: gap))
    }
  }

  /// Replaces a character by spaces if `column` is in the middle of it: a terminal shows no half.
  private mutating func split(at column: Int) {
    guard column < cells.count, cells[column] == Self.rest else { return }
    var start = column
    while start > 0, cells[start] == Self.rest { start -= 1 }
    let end = cells[column...].firstIndex { $0 != Self.rest } ?? cells.count
    for index in start..<end { cells[index] = Self.space }
  }

  private mutating func paint(_ columns: Range<Int>, _ style: TextStyle) -> Int {
    defer { pad(columns, style) }
    return columns.upperBound
  }

  private mutating func pad(_ columns: Range<Int>, _ style: TextStyle) {
    if styles.count <= columns.lowerBound, style.isPlain { return }
    if styles.count < columns.upperBound {
      let missing = columns.upperBound - styles.count
      styles.append(contentsOf: repeatElement(TextStyle(), count: missing))
    }
    for index in columns { styles[index] = style }
  }

  // MARK: Erasing

  /// Erases from `column` to the end of the line.
  mutating func erase(from column: Int) {
    guard column < cells.count else { return }
    isRedrawn = true
    split(at: column)
    cells.removeSubrange(column...)
    if column < styles.count { styles.removeSubrange(column...) }
  }

  /// Replaces `count` columns by spaces.
  mutating func blank(_ count: Int, at column: Int) {
    guard column < cells.count else { return }
    let columns = column..<min(column + count, cells.count)
    prepare(columns)
    for index in columns { cells[index] = Self.space }
    _ = paint(columns, TextStyle())
  }

  /// Removes `count` columns, and moves what follows to the left.
  mutating func delete(_ count: Int, at column: Int) {
    guard column < cells.count else { return }
    let columns = column..<min(column + count, cells.count)
    prepare(columns)
    replaceTabs(after: column)
    cells.removeSubrange(columns)
    if column < styles.count {
      styles.removeSubrange(columns.clamped(to: 0..<styles.count))
    }
  }

  /// Inserts `count` spaces, and moves what follows to the right.
  mutating func insert(_ count: Int, at column: Int) {
    guard column < cells.count else { return }
    prepare(column..<column)
    replaceTabs(after: column)
    cells.insert(contentsOf: repeatElement(Self.space, count: count), at: column)
    if column < styles.count {
      styles.insert(contentsOf: repeatElement(TextStyle(), count: count), at: column)
    }
    split(at: Self.longest)
    cells.removeSubrange(min(Self.longest, cells.count)...)
    styles.removeSubrange(min(Self.longest, styles.count)...)
  }

  /// Replaces tabs by spaces, because they would have another width at another column.
  private mutating func replaceTabs(after column: Int) {
    for index in column..<cells.count - 1 where cells[index] == Self.tab {
      cells[index] = Self.space
      split(at: index + 1)
    }
  }

  // MARK: Reading

  /// Appends the text; with styles, ends the last one.
  func append(to output: inout Bytes) {
    let count = shownColumns
    var current = TextStyle()
    var start = 0
    while start < min(count, styles.count) {
      let style = styles[start]
      let end = styles[start..<min(count, styles.count)].firstIndex { $0 != style }
      output += style.sequence(after: current)
      current = style
      append(start..<(end ?? min(count, styles.count)), to: &output)
      start = end ?? styles.count
    }
    output += TextStyle().sequence(after: current)
    if start < count { append(start..<count, to: &output) }
  }

  private func append(_ columns: Range<Int>, to output: inout Bytes) {
    var rest = cells[columns]
    while let cell = rest.first {
      if isASCII(cell) {
        let run = rest.prefix(while: isASCII)
        output.append(contentsOf: run.lazy.map { UInt8(truncatingIfNeeded: $0) })
        rest = rest[run.endIndex...]
      } else {
        append(cell, to: &output)
        rest = rest.dropFirst()
      }
    }
  }

  private func isASCII(_ cell: Cell) -> Bool { cell < 0x80 && cell != Self.rest }

  /// The columns up to the last one that is not erased.
  private var shownColumns: Int {
    guard isRedrawn else { return cells.count }
    let last = cells.indices.last { index in
      cells[index] != Self.space || index < styles.count && styles[index].showsSpaces
    }
    return last.map { $0 + 1 } ?? 0
  }

  private func append(_ cell: Cell, to output: inout Bytes) {
    if cell & Self.cluster != 0 {
      output += clusters[Int(cell ^ Self.cluster)]
    } else if cell & Self.invalid != 0 {
      output.append(UInt8(truncatingIfNeeded: cell))
    } else if cell != Self.rest, let scalar = UnicodeScalar(cell) {
      output += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
    }
  }
}
