/// The style of text on a terminal, which SGR sequences set: `ESC [ 1 ; 31 m`.
package struct TextStyle: Equatable, Sendable {
  private enum Ink: Equatable {
    case standard
    /// One of the 16 colors that have numbers of their own.
    case basic(UInt8)
    case indexed(UInt8)
    case rgb(UInt8, UInt8, UInt8)
  }

  /// The attributes that are on: bits by the places in ``known``.
  private var attributes: UInt32 = 0
  /// The kind of the underline: 3 is a curly one; 0 if there is none.
  private var underline: UInt8 = 0
  private var foreground = Ink.standard
  private var background = Ink.standard
  private var underlineColor = Ink.standard

  /// The plain style.
  package init() {}

  /// The numbers that turn each attribute on and off; 4 has kinds and is not listed.
  private static let known: [(on: Int, off: Int)] =
    [(1, 22), (2, 22), (3, 23), (20, 23), (21, 24), (5, 25), (6, 25), (7, 27), (8, 28), (9, 29)]
    + (11...19).map { ($0, 10) } + [(26, 50), (51, 54), (52, 54), (53, 55)]
    + (60...64).map { ($0, 65) } + [(73, 75), (74, 75)]
  /// Bold and dim: the only attributes with a common end that do not replace each other.
  private static let weight = 22

  package var isPlain: Bool { self == TextStyle() }

  /// Reversed, crossed out, underlined twice, framed, overlined.
  private static let drawn: Set<Int> = [7, 9, 21, 51, 52, 53]

  /// Whether a space in this style is more than a gap.
  var showsSpaces: Bool {
    background != .standard || underline > 0
      || attributes != 0
        && Self.known.enumerated().contains { place, attribute in
          attributes & 1 << place != 0 && Self.drawn.contains(attribute.on)
        }
  }

  /// Applies a sequence; ignores one with other parameters than numbers.
  package mutating func apply(_ parameters: Bytes) {
    guard parameters.allSatisfy({ 0x30...0x3B ~= $0 }) else { return }
    var parts = Parts(parameters)
    while let part = parts.next() {
      switch part.number {
      case 0: self = TextStyle()
      case 4:
        remove(24)
        underline = UInt8(min(9, part.others.first ?? 1))
      case 30...37: foreground = .basic(UInt8(part.number - 30))
      case 40...47: background = .basic(UInt8(part.number - 40))
      case 90...97: foreground = .basic(UInt8(part.number - 90 + 8))
      case 100...107: background = .basic(UInt8(part.number - 100 + 8))
      case 38: foreground = parts.ink(part) ?? foreground
      case 48: background = parts.ink(part) ?? background
      case 58: underlineColor = parts.ink(part) ?? underlineColor
      case 39: foreground = .standard
      case 49: background = .standard
      case 59: underlineColor = .standard
      default: set(part.number)
      }
    }
  }

  private mutating func set(_ number: Int) {
    guard let place = Self.known.firstIndex(where: { $0.on == number }) else {
      return remove(number)
    }
    let off = Self.known[place].off
    if off != Self.weight { remove(off) }
    attributes |= 1 << place
  }

  private mutating func remove(_ off: Int) {
    if off == 24 { underline = 0 }
    for (place, attribute) in Self.known.enumerated() where attribute.off == off {
      attributes &= ~(1 << place)
    }
  }

  /// The sequence that changes the style from `before` to this one; empty if both are the same.
  package func sequence(after before: TextStyle) -> Bytes {
    if self == before { return [] }
    var sequence: Bytes = [SequenceParser.escape, UInt8(ascii: "[")]
    if !before.isPlain, !isPlain { Self.append([0], to: &sequence) }
    if attributes != 0 {
      for (place, attribute) in Self.known.enumerated() where attributes & 1 << place != 0 {
        Self.append([attribute.on], to: &sequence)
      }
    }
    if underline > 0 { Self.append([4], to: &sequence) }
    if underline > 1 { sequence += [UInt8(ascii: ":"), UInt8(ascii: "0") + underline] }
    Self.append(Self.codes(of: foreground, from: 30), to: &sequence)
    Self.append(Self.codes(of: background, from: 40), to: &sequence)
    Self.append(Self.codes(of: underlineColor, from: 50), to: &sequence)
    return sequence + [UInt8(ascii: "m")]
  }

  private static func codes(of ink: Ink, from first: Int) -> [Int] {
    switch ink {
    case .standard: []
    case .basic(let color): [Int(color) + (color < 8 ? first : first + 60 - 8)]
    case .indexed(let color): [first + 8, 5, Int(color)]
    case .rgb(let red, let green, let blue): [first + 8, 2, Int(red), Int(green), Int(blue)]
    }
  }

  /// Appends numbers below 1000.
  private static func append(_ codes: [Int], to sequence: inout Bytes) {
    for code in codes {
      if sequence.count > 2 { sequence.append(UInt8(ascii: ";")) }
      for unit in [100, 10, 1] where code >= unit || unit == 1 {
        sequence.append(UInt8(ascii: "0") + UInt8(code / unit % 10))
      }
    }
  }

  /// The parts of the parameters, which semicolons separate.
  private struct Parts {
    struct Part {
      var number: Int
      /// The numbers after it, which colons separate.
      var others: [Int]
    }

    private var rest: ArraySlice<UInt8>?

    init(_ parameters: Bytes) { rest = parameters[...] }

    /// The next part; a missing number is 0.
    mutating func next() -> Part? {
      guard let text = rest else { return nil }
      let end = text.firstIndex(of: UInt8(ascii: ";"))
      rest = end.map { text[($0 + 1)...] }
      let part = text[..<(end ?? text.endIndex)]
      guard let colon = part.firstIndex(of: UInt8(ascii: ":")) else {
        return Part(number: Self.number(part), others: [])
      }
      let others = part[(colon + 1)...].split(
        separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      return Part(number: Self.number(part[..<colon]), others: others.map(Self.number))
    }

    /// The color of a part: `38:5:9`, `38:2:R:G:B`, `38:2::R:G:B`, or with semicolons, for which it
    /// reads the parts that follow.
    mutating func ink(_ part: Part) -> Ink? {
      if let kind = part.others.first {
        let numbers = part.others.dropFirst(kind == 2 && part.others.count > 4 ? 2 : 1)
        return Self.ink(kind, numbers.map(UInt8.init(clamping:)))
      }
      var following = self
      guard let kind = following.next()?.number, kind == 2 || kind == 5 else { return nil }
      let numbers = (0..<(kind == 2 ? 3 : 1)).map { _ in
        UInt8(clamping: following.next()?.number ?? 0)
      }
      self = following
      return Self.ink(kind, numbers)
    }

    private static func ink(_ kind: Int, _ numbers: [UInt8]) -> Ink? {
      switch (kind, numbers.count) {
      case (2, 3...): .rgb(numbers[0], numbers[1], numbers[2])
      case (5, 1...): .indexed(numbers[0])
      default: nil
      }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int {
      digits.reduce(0) { min($0 * 10 + Int($1 & 0x0F), 1 << 16) }
    }
  }
}
