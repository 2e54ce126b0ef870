/// The style of text on a terminal, which SGR sequences set: `ESC [ 1 ; 31 m`.
///
/// Keeps the parameters as they were given. Knows only what replaces and ends them.
package struct TextStyle: Equatable, Sendable {
  /// What is on: colors by 38, 48 and 58, attributes by their numbers.
  private var parts: [Int: Bytes] = [:]

  /// The plain style.
  package init() {}

  /// The longest parameter that is kept, `38:2::255:255:255`: all of them fit in one sequence.
  private static let longest = 17

  package var isPlain: Bool { parts.isEmpty }

  /// Whether a space in this style is more than a gap: underlined, reversed, crossed out, colored or
  /// overlined.
  var showsSpaces: Bool { [4, 7, 9, 48, 53].contains { parts[$0] != nil } }

  /// Applies a sequence; ignores one with other parameters than numbers.
  package mutating func apply(_ parameters: Bytes) {
    guard parameters.allSatisfy({ 0x30...0x3B ~= $0 }) else { return }
    var rest = parameters.split(
      separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
    while let part = rest.popFirst() {
      let number = Self.number(part)
      var text = Bytes(part)
      if [38, 48, 58].contains(number), !part.contains(UInt8(ascii: ":")) {
        // The numbers of a color follow, unless colons separate them.
        let kind = rest.first.map(Self.number)
        guard kind == 2 || kind == 5 else { continue }
        let count = kind == 2 ? 4 : 2
        guard rest.count >= count else { return }
        for other in rest.prefix(count) { text += [UInt8(ascii: ";")] + other }
        rest = rest.dropFirst(count)
      }
      if text.count <= Self.longest { set(number, text) }
    }
  }

  private mutating func set(_ number: Int, _ text: Bytes) {
    switch number {
    case 0: parts = [:]
    case 4: parts[4] = text == Bytes("4:0") ? nil : text
    case 1...5, 7...9, 38, 48, 53, 58: parts[number] = text
    case 6: parts[5] = text
    case 21: parts[4] = text
    case 22: (parts[1], parts[2]) = (nil, nil)
    case 23...29: parts[number - 20] = nil
    case 30...37, 90...97: parts[38] = text
    case 40...47, 100...107: parts[48] = text
    case 39, 49, 59: parts[number - 1] = nil
    case 55: parts[53] = nil
    default: break
    }
  }

  /// The sequence that changes the style from `before` to this one; empty if both are the same.
  package func sequence(after before: TextStyle) -> Bytes {
    if self == before { return [] }
    let reset = before.isPlain || isPlain ? [] : [Bytes("0")]
    let codes = reset + parts.sorted { $0.key < $1.key }.map(\.value)
    return Bytes("\u{1B}[") + codes.joined(separator: [UInt8(ascii: ";")]) + [UInt8(ascii: "m")]
  }

  /// The number before a colon; 0 if there is none.
  private static func number(_ part: ArraySlice<UInt8>) -> Int {
    part.prefix { $0 != UInt8(ascii: ":") }.reduce(0) {
      min($0 * 10 + Int($1 & 0x0F), 1 << 16)
    }
  }
}
