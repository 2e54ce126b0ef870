/// The modes of a terminal that the output of a program has changed.
///
/// Pure. Knows those that a program sets once, and not again when it redraws: the alternate screen,
/// the cursor, wrapping, and what keys, the mouse and pasting send.
package struct TerminalModes: Equatable, Sendable {
  /// Whether the program draws on the alternate screen, as an editor does.
  package private(set) var isAlternate = false
  /// The other modes that differ from their defaults.
  private var changed: Set<Int> = []

  package init() {}

  private static let screens: Set<Int> = [47, 1047, 1049]
  private static let usuallyOn = [7, 25]
  /// Cursor keys, reversed colors, mouse, bracketed paste, held output, reports of colors and
  /// sizes.
  private static let usuallyOff = [
    1, 5, 9, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 2004, 2026, 2031, 2048,
  ]
  /// The number of the mode that `ESC =` turns on.
  private static let keypad = 66

  /// Notes a part of the output; returns whether the alternate screen is on from here, or nil if
  /// the part says nothing about it.
  @discardableResult
  package mutating func note(_ element: SequenceParser.Element) -> Bool? {
    switch element {
    case _ where element.isReset:
      self = TerminalModes()
      return false
    case .escape(0, UInt8(ascii: "=")): changed.insert(Self.keypad)
    case .escape(0, UInt8(ascii: ">")): changed.remove(Self.keypad)
    // A soft reset.
    case .sequence(Bytes("!"), UInt8(ascii: "p")): changed.subtract([1, 7, 25, Self.keypad])
    case .sequence(let parameters, let final) where parameters.first == UInt8(ascii: "?"):
      guard final == UInt8(ascii: "h") || final == UInt8(ascii: "l") else { return nil }
      return set(parameters.dropFirst(), isOn: final == UInt8(ascii: "h"))
    case .text, .control, .escape, .sequence: break
    }
    return nil
  }

  /// Whether a part of the output only changes what `sequences` restores.
  package static func has(_ element: SequenceParser.Element) -> Bool {
    switch element {
    case .escape(0, UInt8(ascii: "=")), .escape(0, UInt8(ascii: ">")): true
    case .escape: element.isReset
    case .sequence(let parameters, UInt8(ascii: "h")), .sequence(let parameters, UInt8(ascii: "l")):
      parameters.first == UInt8(ascii: "?")
        && numbers(parameters.dropFirst()).allSatisfy {
          screens.contains($0) || usuallyOn.contains($0) || usuallyOff.contains($0)
        }
    case .text, .control, .sequence: false
    }
  }

  private static func numbers(_ parameters: ArraySlice<UInt8>) -> [Int] {
    parameters.split(separator: UInt8(ascii: ";")).map { Int(decimal: Bytes($0)) ?? 0 }
  }

  private mutating func set(_ parameters: ArraySlice<UInt8>, isOn: Bool) -> Bool? {
    var screen: Bool?
    for mode in Self.numbers(parameters) {
      if Self.screens.contains(mode) { screen = isOn }
      if isOn ? Self.usuallyOff.contains(mode) : Self.usuallyOn.contains(mode) {
        changed.insert(mode)
      } else {
        changed.remove(mode)
      }
    }
    isAlternate = screen ?? isAlternate
    return screen
  }

  /// What sets these modes on a terminal whose modes are the defaults.
  package var sequences: Bytes {
    let modes = changed.sorted().map { mode in
      mode == Self.keypad
        ? "\u{1B}=" : "\u{1B}[?\(mode)\(Self.usuallyOn.contains(mode) ? "l" : "h")"
    }
    return Bytes(((isAlternate ? "\u{1B}[?1049h" : "") + modes.joined()).utf8)
  }

  // MARK: The reset

  /// Whether output can change a terminal: it has other control characters than line ends, tabs,
  /// backspaces and bells.
  package static func canChange(by output: Bytes) -> Bool {
    output.contains { $0 < 0x20 && !(0x07...0x0D ~= $0) }
  }

  /// Resets these modes, those of the keyboard, the style, line drawing, the shape of the cursor
  /// and the scrolling region, whether a program has changed them or not; the cursor stays where it
  /// is.
  package static let reset = Bytes(
    [
      // Ends an incomplete sequence, which would swallow the rest.
      "\u{18}",
      // Keys as kitty sends them; the alternate screen has a setting of its own.
      "\u{1B}[=0u",
      // Off moves the cursor to where it was at the last on.
      "\u{1B}[?1049h\u{1B}[?1049l\u{1B}[=0u",
      // Keys as xterm sends them. Some terminals take this for a style, which the end resets.
      "\u{1B}[>4m",
      // One by one: tmux ignores a long sequence.
      usuallyOff.map { "\u{1B}[?\($0)l" }.joined(),
      usuallyOn.map { "\u{1B}[?\($0)h" }.joined() + "\u{1B}>",
      // A locked keyboard, insert mode, line ends of two characters.
      "\u{1B}[2l\u{1B}[4l\u{1B}[20l",
      // Line drawing, the shape of the cursor.
      "\u{1B}(B\u{0F}\u{1B}[0 q",
      // The scrolling region, which moves the cursor.
      "\u{1B}7\u{1B}[r\u{1B}8",
      "\u{1B}[m",
    ].joined().utf8)
}

extension SequenceParser.Element {
  /// Whether this resets a terminal, and clears it.
  package var isReset: Bool { self == .escape(intermediate: 0, final: UInt8(ascii: "c")) }
}
