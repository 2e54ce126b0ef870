/// The text that a program's output leaves on a terminal, line by line.
///
/// Obeys what programs use for progress bars and prompts: returning to the start of a line or to
/// lines above, overwriting and erasing. A line that can no longer change is complete. Drops other
/// control sequences, titles, and what is drawn on the alternate screen. Does not wrap lines,
/// because their text matters and not the width of a terminal.
///
/// Pure; the output may be split anywhere. O(count) time; memory is bounded.
package struct TerminalText: Sendable {
  private struct Saved {
    /// The number of lines before it, from the start of the output.
    var line: Int
    var column: Int
    var style: TextStyle
  }

  /// The lines of a large terminal: a program that moves to lines above stays within them.
  package static let screen = 64

  private let keepsStyle: Bool
  /// The most lines that can still change.
  private let window: Int
  /// Whether the output before the first byte is unknown.
  private var isCut: Bool
  private var parser = SequenceParser()
  private var lines = [TextLine()]
  /// How many lines are complete.
  private var completed = 0
  /// The cursor: an index of `lines`, and a column, which can be beyond the end of the line.
  private var row = 0
  private var column = 0
  private var style = TextStyle()
  private var saved: Saved?
  /// Whether the cursor is at another place of the screen until it is restored: a status line.
  private var isAside = false
  private var isAlternate = false
  /// The row of the screen at which a sequence placed the current line; nil if unknown.
  private var screenRow: Int?
  /// The start of a character that continues in the next bytes.
  private var partial = Bytes()
  private var complete = Bytes()

  /// Keeps styles, complete in each line, or drops them.
  ///
  /// Lines are complete when `window` lines follow them or, with a window of 1, as they end. `isCut`
  /// means that output before is missing, so that the alternate screen may be on.
  package init(keepsStyle: Bool, window: Int = TerminalText.screen, isCut: Bool = false) {
    self.keepsStyle = keepsStyle
    self.window = max(1, window)
    self.isCut = isCut
  }

  /// The plain text that is left of an excerpt; `isCut` if output before it is missing.
  package static func plain(_ bytes: Bytes, isCut: Bool = false) -> Bytes {
    var text = TerminalText(keepsStyle: false, window: .max, isCut: isCut)
    return text.convert(bytes) + text.finish()
  }

  /// The same conversion of other output, or of the same from another place on: then it `isCut`.
  package func restarted(isCut: Bool) -> TerminalText {
    TerminalText(keepsStyle: keepsStyle, window: window, isCut: isCut)
  }

  /// Returns the lines that are now complete, each ended by a newline.
  package mutating func convert(_ bytes: Bytes) -> Bytes {
    // Only such a byte continues a character.
    if let first = bytes.first, !(0x80...0xBF ~= first) { writePartial() }
    var rest = bytes[...]
    while let element = parser.next(&rest) { obey(element, isLast: rest.isEmpty) }
    defer { complete = [] }
    return complete
  }

  /// The present state of the line with the cursor, which is incomplete.
  package var openLine: Bytes {
    var text = Bytes()
    lines[row].append(to: &text)
    return text
  }

  /// Returns the remaining lines, the last one without a newline, and starts anew.
  package mutating func finish() -> Bytes {
    writePartial()
    var text = complete
    for (index, line) in lines.enumerated() {
      if index > 0 { text.append(UInt8(ascii: "\n")) }
      line.append(to: &text)
    }
    self = restarted(isCut: false)
    return text
  }

  // MARK: Elements

  private mutating func obey(_ element: SequenceParser.Element, isLast: Bool) {
    switch element {
    case .text(let text):
      if isAlternate || isAside { return }
      let bytes = partial.isEmpty ? text : partial + text
      partial = []
      bytes.withUnsafeBufferPointer { write($0, mayContinue: isLast) }
    case .control(let byte): if !isAlternate { control(byte) }
    case .escape(0, let final): escape(final)
    case .sequence(let parameters, let final): sequence(parameters, final)
    case .escape: break
    }
  }

  private mutating func control(_ byte: UInt8) {
    switch byte {
    // A vertical tab and a form feed are line ends on a terminal.
    case 0x0A...0x0C: lineFeed()
    case _ where isAside: break
    case 0x08: column = max(0, column - 1)
    case 0x09:
      if column == TextLine.longest { lineFeed() }
      column = lines[row].tab(at: column, style)
    case 0x0D: column = 0
    default: break
    }
  }

  private mutating func escape(_ final: UInt8) {
    switch final {
    case UInt8(ascii: "c"): reset()
    case _ where isAlternate: break
    case UInt8(ascii: "8"): restore()
    case _ where isAside: break
    case UInt8(ascii: "7"): save()
    case UInt8(ascii: "D"), UInt8(ascii: "E"): lineFeed()
    case UInt8(ascii: "M"): moveUp(1)
    default: break
    }
  }

  private mutating func sequence(_ parameters: Bytes, _ final: UInt8) {
    if parameters.first == UInt8(ascii: "?") { return setModes(parameters, final) }
    let isRestoring = final == UInt8(ascii: "u") && parameters.isEmpty
    guard !isAlternate, !isAside || isRestoring,
      parameters.allSatisfy({ 0x30...0x3B ~= $0 })
    else { return }
    // First, because most sequences are styles.
    if final == UInt8(ascii: "m") {
      if keepsStyle { style.apply(parameters) }
      return
    }
    let count = Self.number(parameters, 0)
    switch final {
    case UInt8(ascii: "K"): eraseInLine(parameters)
    case UInt8(ascii: "J"): eraseScreen(parameters)
    case UInt8(ascii: "A"): moveUp(count)
    case UInt8(ascii: "F"):
      moveUp(count)
      column = 0
    case UInt8(ascii: "B"), UInt8(ascii: "e"): moveDown(count)
    case UInt8(ascii: "E"):
      moveDown(count)
      column = 0
    case UInt8(ascii: "C"), UInt8(ascii: "a"): move(to: column + count)
    case UInt8(ascii: "D"): column = max(0, column - count)
    case UInt8(ascii: "G"), UInt8(ascii: "`"): move(to: count - 1)
    case UInt8(ascii: "H"), UInt8(ascii: "f"): place(count, Self.number(parameters, 1))
    case UInt8(ascii: "d"): place(count, column + 1)
    // The scroll region, which places the cursor too.
    case UInt8(ascii: "r"): place(1, 1)
    case UInt8(ascii: "X"): lines[row].blank(count, at: column)
    case UInt8(ascii: "P"): lines[row].delete(count, at: column)
    case UInt8(ascii: "@"): lines[row].insert(min(count, Self.reach), at: column)
    case UInt8(ascii: "s"): if parameters.isEmpty { save() }
    case UInt8(ascii: "u"): if isRestoring { restore() }
    default: break
    }
  }

  /// A number of the parameters: at least 1, which is also the default, and not too large to add.
  private static func number(_ parameters: Bytes, _ place: Int) -> Int {
    let parts = parameters.split(
      separator: UInt8(ascii: ";"), maxSplits: place + 1, omittingEmptySubsequences: false)
    guard place < parts.count else { return 1 }
    return max(1, parts[place].reduce(0) { min($0 * 10 + Int($1 & 0x0F), TextLine.longest) })
  }

  private mutating func setModes(_ parameters: Bytes, _ final: UInt8) {
    let modes = parameters.dropFirst().split(separator: UInt8(ascii: ";")).map { Bytes($0).text }
    guard !Set(modes).isDisjoint(with: ["47", "1047", "1049"]) else { return }
    switch final {
    case UInt8(ascii: "h"): isAlternate = true
    case UInt8(ascii: "l"):
      // The start is missing: what came so far was on the alternate screen.
      if isCut { start() }
      isAlternate = false
    default: return
    }
    isCut = false
  }

  // MARK: Text

  /// Control characters above ASCII; some terminals obey them as characters or as bytes.
  private static let controls: ClosedRange<UInt32> = 0x80...0x9F

  private mutating func write(_ bytes: UnsafeBufferPointer<UInt8>, mayContinue: Bool) {
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte < 0x80 {
        var end = index + 1
        while end < bytes.count, bytes[end] < 0x80 { end += 1 }
        write(ascii: bytes[index..<end])
        index = end
        continue
      }
      let length = UTF8Sequence.length(bytes, at: index)
      if let scalar = UTF8Sequence.scalar(bytes[index..<index + length]) {
        write(scalar)
      } else if mayContinue, bytes.count - index < UTF8Sequence.length(startingWith: byte) {
        partial = Bytes(bytes[index...])
        return
      } else if !(Self.controls ~= UInt32(byte)) {
        makeRoom(1)
        column = lines[row].write(invalid: byte, at: column, style)
      }
      index += max(1, length)
    }
  }

  private mutating func write(ascii text: Slice<UnsafeBufferPointer<UInt8>>) {
    var rest = text
    while !rest.isEmpty {
      makeRoom(1)
      let part = rest.prefix(TextLine.longest - column)
      column = lines[row].write(ascii: part, at: column, style)
      rest = rest.dropFirst(part.count)
    }
  }

  private mutating func write(_ scalar: UnicodeScalar) {
    if Self.controls ~= scalar.value { return }
    let width = DisplayWidth.of(scalar)
    if width == 0, lines[row].attach(scalar, before: column) { return }
    makeRoom(max(1, width))
    column = lines[row].write(scalar, width: max(1, width), at: column, style)
  }

  /// Writes the bytes of an incomplete character, because no text continues it.
  private mutating func writePartial() {
    guard !partial.isEmpty else { return }
    let bytes = partial
    partial = []
    bytes.withUnsafeBufferPointer { write($0, mayContinue: false) }
  }

  private mutating func makeRoom(_ columns: Int) {
    if column + columns > TextLine.longest { lineFeed() }
  }

  // MARK: The cursor

  /// How far a sequence can move the cursor beyond the end of the line: wider than any terminal, and
  /// short enough that few bytes do not become a long text.
  private static let reach = 512

  private mutating func move(to column: Int) {
    self.column = max(min(column, Self.reach), min(column, lines[row].columns))
  }

  private mutating func moveUp(_ count: Int) { row = max(0, row - count) }

  private mutating func moveDown(_ count: Int) {
    guard row + count >= lines.count else { return row += count }
    // The screen may have room for more lines; one is enough to overwrite none.
    let column = column
    row = lines.count - 1
    lineFeed()
    self.column = column
  }

  /// Moves to the next line; makes the first line complete if there are more than the window.
  private mutating func lineFeed() {
    column = 0
    screenRow = nil
    isAside = false
    guard row + 1 == lines.count else { return row += 1 }
    if lines.count < window {
      lines.append(TextLine())
      row += 1
    } else {
      var line = lines.removeFirst()
      line.append(to: &complete)
      complete.append(UInt8(ascii: "\n"))
      completed += 1
      line.clear()
      lines.append(line)
    }
  }

  /// Begins a new line after all others.
  private mutating func breakLine() {
    row = lines.count - 1
    if !lines[row].isBlank { lineFeed() }
    column = 0
    screenRow = nil
  }

  /// Moves to a place on the screen.
  ///
  /// Begins a new line if the row differs from the row of the last such move: which lines are on the
  /// screen, and where, is not known.
  private mutating func place(_ row: Int, _ column: Int) {
    if let saved, saved.line == completed + self.row, saved.column == self.column {
      isAside = true
      return
    }
    if row != screenRow { breakLine() }
    screenRow = row
    move(to: column - 1)
  }

  private mutating func save() {
    saved = Saved(line: completed + row, column: column, style: style)
  }

  private mutating func restore() {
    isAside = false
    guard let saved else { return }
    style = saved.style
    guard saved.line >= completed else { return }
    row = min(saved.line - completed, lines.count - 1)
    column = saved.column
  }

  // MARK: Erasing

  private mutating func eraseInLine(_ parameters: Bytes) {
    switch parameters {
    case [], [UInt8(ascii: "0")]: lines[row].erase(from: column)
    case [UInt8(ascii: "1")]: lines[row].blank(column + 1, at: 0)
    case [UInt8(ascii: "2")]: lines[row].erase(from: 0)
    default: break
    }
  }

  /// Erases what is below; begins a new line if everything is erased, and keeps what was.
  private mutating func eraseScreen(_ parameters: Bytes) {
    switch parameters {
    case [], [UInt8(ascii: "0")]:
      lines[row].erase(from: column)
      lines.removeSubrange((row + 1)...)
    case [UInt8(ascii: "2")], [UInt8(ascii: "3")]: breakLine()
    default: break
    }
  }

  private mutating func start() {
    lines = [TextLine()]
    (row, column) = (0, 0)
    style = TextStyle()
    saved = nil
    screenRow = nil
  }

  private mutating func reset() {
    style = TextStyle()
    saved = nil
    isAlternate = false
    breakLine()
  }
}
