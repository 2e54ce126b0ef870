/// Follows the output of a program, to know what it leaves changed on a terminal.
///
/// Pure; the output may be split anywhere. Knows styles and colors (SGR), the alternate screen, a
/// hidden cursor, the modes that change what keys, the mouse and pasting send, line drawing, the
/// scroll region and insert mode.
package struct TerminalTrace: Equatable, Sendable {
  private enum Position { case text, escape, intermediate, sequence, string }

  private var position = Position.text
  /// What a sequence contains so far.
  private var parameters = Bytes()
  /// The styles that are on, by the SGR number that turns each off.
  private var styles: Set<Int> = []
  /// The styles that leaving the alternate screen restores.
  private var savedStyles: Set<Int> = []
  /// The private modes that differ from the usual.
  private var modes: Set<Int> = []
  /// What else is changed, by the sequence that restores it.
  private var others: Set<String> = []

  package init() {}

  private static let escape: UInt8 = 0x1B
  /// Both end an incomplete sequence: CAN and SUB.
  private static let cancels: ClosedRange<UInt8> = 0x18...0x1A
  private static let screens: Set<Int> = [47, 1047, 1049]
  /// The modes that are usually off: cursor keys, reversed colors, origin, mouse, alternate screen,
  /// bracketed paste, held output.
  private static let usuallyOff: Set<Int> = [
    1, 5, 6, 9, 47, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 1047, 1049, 2004, 2026,
  ]
  private static let letters = "\u{1B}(B"
  private static let keypad = "\u{1B}>"
  private static let replacing = "\u{1B}[4l"
  /// Setting the region moves the cursor.
  private static let wholeScreen = "\u{1B}7\u{1B}[r\u{1B}8"
  /// Wrapping lines, and the cursor.
  private static let usuallyOn: Set<Int> = [7, 25]
  /// Longer sequences have no effect that is followed.
  private static let longest = 256

  package mutating func note(_ bytes: Bytes) {
    var rest = bytes[...]
    while let byte = rest.first {
      if position == .text {
        guard let start = rest.firstIndex(of: Self.escape) else { return }
        rest = rest[(start + 1)...]
        position = .escape
        continue
      }
      rest = rest.dropFirst()
      take(byte)
    }
  }

  /// What restores the terminal; empty if nothing is changed.
  package var undo: Bytes {
    var undo = ""
    // Ends an incomplete sequence, which would swallow the text that follows.
    if position != .text { undo += "\u{18}" }
    // First, because it restores the cursor and its style.
    let screens = modes.intersection(Self.screens)
    for mode in screens.sorted() + modes.subtracting(screens).sorted() {
      undo += "\u{1B}[?\(mode)\(Self.usuallyOn.contains(mode) ? "h" : "l")"
    }
    undo += others.sorted().joined()
    if !styles.isEmpty || !screens.isEmpty && !savedStyles.isEmpty { undo += "\u{1B}[m" }
    return Bytes(undo.utf8)
  }

  private mutating func take(_ byte: UInt8) {
    if byte == Self.escape { return position = .escape }
    if byte == Self.cancels.lowerBound || byte == Self.cancels.upperBound {
      return position = .text
    }
    switch position {
    case .text: break
    case .escape: begin(byte)
    case .intermediate:
      guard byte >= 0x30 else { return }
      position = .text
      if parameters == [UInt8(ascii: "(")] { change(Self.letters, byte != UInt8(ascii: "B")) }
    case .string: if byte == 0x07 { position = .text }
    case .sequence:
      switch byte {
      case 0x20...0x3F: if parameters.count < Self.longest { parameters.append(byte) }
      case 0x40...0x7E:
        position = .text
        end(byte)
      // The terminal obeys a control character in the middle of a sequence.
      default: break
      }
    }
  }

  private mutating func begin(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "["):
      position = .sequence
      parameters = []
    case UInt8(ascii: "]"), UInt8(ascii: "P"), UInt8(ascii: "X"), UInt8(ascii: "^"),
      UInt8(ascii: "_"):
      position = .string
    case 0x20...0x2F:
      position = .intermediate
      parameters = [byte]
    case UInt8(ascii: "="), UInt8(ascii: ">"):
      position = .text
      change(Self.keypad, byte == UInt8(ascii: "="))
    case UInt8(ascii: "c"): self = TerminalTrace()
    default: position = .text
    }
  }

  private mutating func end(_ final: UInt8) {
    let isPrivate = parameters.first == UInt8(ascii: "?")
    switch final {
    case UInt8(ascii: "m"): if parameters.allSatisfy({ (0x30...0x3B).contains($0) }) { setStyles() }
    case UInt8(ascii: "h"), UInt8(ascii: "l"):
      let isOn = final == UInt8(ascii: "h")
      if isPrivate { setModes(isOn: isOn) }
      if parameters == [UInt8(ascii: "4")] { change(Self.replacing, isOn) }
    case UInt8(ascii: "r"):
      if !isPrivate { change(Self.wholeScreen, !parameters.isEmpty) }
    // A soft reset.
    case UInt8(ascii: "p"):
      guard parameters == [UInt8(ascii: "!")] else { return }
      styles = []
      others = []
      modes.subtract(Self.usuallyOn.union([1, 6]))
    default: break
    }
  }

  private mutating func change(_ undo: String, _ isChanged: Bool) {
    if isChanged { others.insert(undo) } else { others.remove(undo) }
  }

  private mutating func setModes(isOn: Bool) {
    for text in parameters.dropFirst().split(separator: UInt8(ascii: ";")) {
      guard let mode = Int(decimal: Bytes(text)) else { continue }
      if Self.screens.contains(mode) {
        if modes.isDisjoint(with: Self.screens) { savedStyles = styles }
        if mode == 1049, !isOn, modes.contains(1049) { styles = savedStyles }
        modes.subtract(Self.screens)
      }
      guard Self.usuallyOff.contains(mode) || Self.usuallyOn.contains(mode) else { continue }
      if isOn == Self.usuallyOff.contains(mode) { modes.insert(mode) } else { modes.remove(mode) }
    }
  }

  private mutating func setStyles() {
    let separator = UInt8(ascii: ";")
    let parts = parameters.split(separator: separator, omittingEmptySubsequences: false)
    var rest = parts.map { part in
      part.split(separator: UInt8(ascii: ":")).map { Int(decimal: Bytes($0)) ?? 0 }
    }[...]
    while let part = rest.popFirst() {
      let number = part.first ?? 0
      if number == 0 {
        styles = []
      } else if let off = Self.off(number) {
        if part.count > 1, number == 4, part[1] == 0 {
          styles.remove(off)
        } else {
          styles.insert(off)
        }
        // A color by its number or its parts.
        if [38, 48, 58].contains(number), part.count == 1 {
          rest = rest.dropFirst(rest.first == [5] ? 2 : rest.first == [2] ? 4 : 0)
        }
      } else {
        styles.remove(number)
      }
    }
  }

  /// The number that turns a style off; nil if this one does.
  private static func off(_ number: Int) -> Int? {
    switch number {
    case 1, 2: 22
    case 3, 20: 23
    case 4, 21: 24
    case 5, 6: 25
    case 7, 8, 9: number + 20
    case 11...19: 10
    case 26: 50
    case 30...38, 90...97: 39
    case 40...48, 100...107: 49
    case 51, 52: 54
    case 53: 55
    case 58: 59
    case 60...64: 65
    case 73, 74: 75
    default: nil
    }
  }
}
