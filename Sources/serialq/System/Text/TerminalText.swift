/// The text of a program's output on a terminal, line by line.
///
/// Drops control sequences, and what is drawn on the alternate screen. After a carriage return or a
/// backspace, characters replace those before; only erasing in the line is obeyed besides, because
/// progress bars use it. A column is one character, whatever its width.
///
/// Pure; the output may be split anywhere. O(count) time; memory is bounded.
package struct TerminalText: Sendable {
  private struct Cell {
    /// UTF-8, the first byte lowest; or one byte that is not UTF-8.
    var character: UInt32
    var style: Bytes
  }

  /// The most columns; longer text continues on the next line.
  private static let longest = 1 << 16
  /// The longest style; of a longer one, only its last sequence is kept.
  private static let longestStyle = 64
  private static let space = Cell(character: 0x20, style: [])
  private static let plainStyle = Bytes("\u{1B}[m")

  package let keepsStyle: Bool
  /// Whether the output before the first byte is unknown, so that the alternate screen may be on.
  private var isCut: Bool
  private var parser = SequenceParser()
  private var modes = TerminalModes()
  private var line: [Cell] = []
  /// An index of `line`, or its end.
  private var column = 0
  /// Whether text was replaced or erased; then spaces at the end are what covers other text.
  private var isRedrawn = false
  /// The sequences that set the present style.
  private var style = Bytes()
  /// The start of a character that continues in the next bytes.
  private var partial = Bytes()
  private var complete = Bytes()

  /// Keeps styles and colors, complete in each line, or drops them.
  package init(keepsStyle: Bool, isCut: Bool = false) {
    self.keepsStyle = keepsStyle
    self.isCut = isCut
  }

  /// The plain text of an excerpt; `isCut` if output before it is missing.
  package static func plain(_ output: Bytes, isCut: Bool = false) -> Bytes {
    var text = TerminalText(keepsStyle: false, isCut: isCut)
    return text.convert(output) + text.finish()
  }

  /// Returns the lines that are now complete, each ended by a newline.
  package mutating func convert(_ output: Bytes) -> Bytes {
    var rest = (partial + output)[...]
    partial = []
    while let element = parser.next(&rest) {
      if let isAlternate = modes.note(element) {
        // The start is missing: what came so far was on the alternate screen.
        if isCut, !isAlternate { (complete, line, column) = ([], [], 0) }
        isCut = false
      }
      if !modes.isAlternate { take(element, isLast: rest.isEmpty) }
    }
    defer { complete = [] }
    return complete
  }

  /// Returns the incomplete line, and starts anew.
  package mutating func finish() -> Bytes {
    write(partial[...], isLast: false)
    appendLine()
    defer { self = TerminalText(keepsStyle: keepsStyle) }
    return complete
  }

  // MARK: Elements

  private mutating func take(_ element: SequenceParser.Element, isLast: Bool) {
    switch element {
    case .text(let text): write(text, isLast: isLast)
    case .control(0x08): column = max(0, column - 1)
    case .control(0x09): put(0x09)
    // A vertical tab and a form feed are line ends on a terminal.
    case .control(0x0A...0x0C): endLine()
    case .control(0x0D): column = 0
    case .sequence(let parameters, UInt8(ascii: "K")): erase(parameters)
    case .sequence(let parameters, UInt8(ascii: "m")): if keepsStyle { setStyle(parameters) }
    case .control, .escape, .sequence: break
    }
  }

  private mutating func write(_ text: ArraySlice<UInt8>, isLast: Bool) {
    text.withUnsafeBufferPointer { bytes in
      var index = 0
      while index < bytes.count {
        let length = UTF8Sequence.length(bytes, at: index)
        let missing = index + UTF8Sequence.length(startingWith: bytes[index]) - bytes.count
        if length == 0, isLast, missing > 0 { return partial = Bytes(bytes[index...]) }
        let end = index + max(1, length)
        put(bytes[index..<end].reversed().reduce(0) { $0 << 8 | UInt32($1) })
        index = end
      }
    }
  }

  private mutating func put(_ character: UInt32) {
    // Some terminals obey control characters above ASCII, as bytes or as characters.
    let controls: ClosedRange<UInt32> = 0x80...0x9F
    if controls ~= character || character & 0xFF == 0xC2 && controls ~= character >> 8 { return }
    if column == Self.longest { endLine() }
    isRedrawn = isRedrawn || column < line.count
    let cell = Cell(character: character, style: style)
    if column < line.count { line[column] = cell } else { line.append(cell) }
    column += 1
  }

  private mutating func endLine() {
    appendLine()
    complete.append(UInt8(ascii: "\n"))
    line.removeAll(keepingCapacity: true)
    (column, isRedrawn) = (0, false)
  }

  /// Erases from the cursor to the end of the line, from its start to the cursor (1), or all (2).
  private mutating func erase(_ parameters: Bytes) {
    let part = parameters.last ?? 0
    if part != UInt8(ascii: "1") { line.removeSubrange(column...) }
    if part == UInt8(ascii: "1") || part == UInt8(ascii: "2") {
      for index in line.indices.prefix(column + 1) { line[index] = Self.space }
    }
    isRedrawn = true
  }

  private mutating func setStyle(_ parameters: Bytes) {
    guard parameters.allSatisfy({ 0x30...0x3B ~= $0 }) else { return }
    let sequence = Bytes("\u{1B}[") + parameters + [UInt8(ascii: "m")]
    let first = parameters.prefix { $0 != UInt8(ascii: ";") }
    let resets = first.allSatisfy { $0 == UInt8(ascii: "0") }
    if resets || style.count + sequence.count > Self.longestStyle { style = [] }
    if !resets || first.count < parameters.count { style += sequence }
  }

  private mutating func appendLine() {
    while isRedrawn, line.last?.character == 0x20, line.last?.style == [] { line.removeLast() }
    var current = Bytes()
    for cell in line {
      if cell.style != current {
        let continues = cell.style.starts(with: current)
        complete += continues ? [] : Self.plainStyle
        complete += cell.style.dropFirst(continues ? current.count : 0)
        current = cell.style
      }
      var character = cell.character
      repeat {
        complete.append(UInt8(truncatingIfNeeded: character))
        character >>= 8
      } while character != 0
    }
    if !current.isEmpty { complete += Self.plainStyle }
  }
}
