/// Tracks what the output of a program changes on a terminal and does not restore.
///
/// Pure; the output may be split anywhere. Knows styles and colors (SGR), the alternate screen, a
/// hidden cursor and its shape, the modes that change what keys, the mouse and pasting send, line
/// drawing, the scroll region and insert mode.
package struct TerminalTrace: Equatable, Sendable {
  private var parser = SequenceParser()
  private var style = TextStyle()
  /// The style that leaving the alternate screen restores.
  private var savedStyle = TextStyle()
  /// The private modes that differ from their defaults.
  private var modes: Set<Int> = []
  /// What the program has pushed on the stack of the keyboard protocol of kitty.
  private var pushed: [String] = []
  /// Other changes: the sequence that makes each, keyed by the sequence that restores it.
  private var others: [String: String] = [:]

  package init() {}

  private static let screens: Set<Int> = [47, 1047, 1049]
  /// The modes that are usually off: cursor keys, reversed colors, origin, mouse, alternate screen,
  /// bracketed paste, held output, reports of colors and sizes.
  private static let usuallyOff: Set<Int> = [
    1, 5, 6, 9, 47, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 1047, 1049, 2004, 2026,
    2031, 2048,
  ]
  private static let letters = "\u{1B}(B"
  private static let keypad = "\u{1B}>"
  private static let replacing = "\u{1B}[4l"
  private static let cursorShape = "\u{1B}[0 q"
  /// The keys of xterm, and the flags of kitty: a shell that does not expect their sequences sees no
  /// Ctrl-C.
  private static let keys = "\u{1B}[>4m"
  private static let flags = "\u{1B}[=0u"
  /// More than a program pushes; a terminal has a limit too.
  private static let mostPushed = 16
  /// Setting the region moves the cursor.
  private static let wholeScreen = "\u{1B}7\u{1B}[r\u{1B}8"
  /// Wrapping lines, and the cursor.
  private static let usuallyOn: Set<Int> = [7, 25]

  package mutating func note(_ bytes: Bytes) {
    var rest = bytes[...]
    while !rest.isEmpty {
      // Fast path: text has no effect, and most output is text.
      if parser.isInText {
        guard let start = rest.firstIndex(of: SequenceParser.escape) else { return }
        rest = rest[start...]
      }
      switch parser.next(&rest) {
      case .escape(let intermediate, let final): obey(intermediate, final)
      case .sequence(let parameters, let final): obey(parameters, final)
      case .text, .control, nil: break
      }
    }
  }

  /// Whether the program draws on the alternate screen, as an editor does.
  package var isFullScreen: Bool { !modes.isDisjoint(with: Self.screens) }

  /// What restores the terminal; empty if nothing is changed.
  package var undo: Bytes {
    var undo = ""
    // Ends an incomplete sequence, which would swallow the text that follows.
    if !parser.isInText { undo += "\u{18}" }
    // Before leaving the alternate screen, which has its own stack of flags.
    if !pushed.isEmpty { undo += "\u{1B}[<\(pushed.count)u" }
    // Restores the cursor and its style.
    for mode in screensFirst { undo += sequence(of: mode, isChanged: false) }
    undo += others.keys.sorted().joined()
    if !style.isPlain || isFullScreen && !savedStyle.isPlain { undo += "\u{1B}[m" }
    return Bytes(undo.utf8)
  }

  /// What changes a terminal on which nothing is changed as the output has, so that the output can
  /// continue there.
  package var redo: Bytes {
    // The alternate screen saves the style from before.
    let before = isFullScreen ? savedStyle : TextStyle()
    var redo = before.sequence(after: TextStyle())
    for mode in screensFirst { redo += sequence(of: mode, isChanged: true).utf8 }
    for (_, change) in others.sorted(by: { $0.key < $1.key }) { redo += change.utf8 }
    for flags in pushed { redo += flags.utf8 }
    return redo + style.sequence(after: before) + parser.incomplete
  }

  private var screensFirst: [Int] {
    let screens = modes.intersection(Self.screens)
    return screens.sorted() + modes.subtracting(screens).sorted()
  }

  private func sequence(of mode: Int, isChanged: Bool) -> String {
    "\u{1B}[?\(mode)\(Self.usuallyOff.contains(mode) == isChanged ? "h" : "l")"
  }

  private mutating func obey(_ intermediate: UInt8, _ final: UInt8) {
    switch (intermediate, final) {
    case (UInt8(ascii: "("), _):
      let change = "\u{1B}(\(UnicodeScalar(final))"
      self.change(Self.letters, change == Self.letters ? nil : change)
    case (0, UInt8(ascii: "=")): change(Self.keypad, "\u{1B}=")
    case (0, UInt8(ascii: ">")): change(Self.keypad, nil)
    case (0, UInt8(ascii: "c")): self = TerminalTrace()
    default: break
    }
  }

  private mutating func obey(_ parameters: Bytes, _ final: UInt8) {
    let isPrivate = parameters.first == UInt8(ascii: "?")
    switch final {
    case UInt8(ascii: "m"):
      style.apply(parameters)
      setKeys(parameters, final)
    case UInt8(ascii: "n"), UInt8(ascii: "u"): setKeys(parameters, final)
    case UInt8(ascii: "q"):
      guard parameters.last == UInt8(ascii: " ") else { return }
      let shape = parameters.dropLast()
      let isUsual = shape.isEmpty || shape == [UInt8(ascii: "0")]
      change(Self.cursorShape, isUsual ? nil : "\u{1B}[\(parameters.text)q")
    case UInt8(ascii: "h"), UInt8(ascii: "l"):
      let isOn = final == UInt8(ascii: "h")
      if isPrivate { setModes(parameters, isOn: isOn) }
      if parameters == [UInt8(ascii: "4")] { change(Self.replacing, isOn ? "\u{1B}[4h" : nil) }
    case UInt8(ascii: "r"):
      guard parameters.allSatisfy({ 0x30...0x3B ~= $0 }) else { return }
      let region = "\u{1B}7\u{1B}[\(parameters.text)r\u{1B}8"
      change(Self.wholeScreen, parameters.isEmpty ? nil : region)
    // A soft reset.
    case UInt8(ascii: "p"):
      guard parameters == [UInt8(ascii: "!")] else { return }
      style = TextStyle()
      others = [:]
      modes.subtract(Self.usuallyOn.union([1, 6]))
    default: break
    }
  }

  private mutating func change(_ undo: String, _ redo: String?) { others[undo] = redo }

  private mutating func setKeys(_ parameters: Bytes, _ final: UInt8) {
    let values = parameters.dropFirst()
    guard let kind = parameters.first, 0x3C...0x3E ~= kind,
      values.allSatisfy({ 0x30...0x3B ~= $0 })
    else { return }
    let number = Int(digits: Bytes(values.prefix { $0 != UInt8(ascii: ";") })) ?? 0
    let sequence = "\u{1B}[\(parameters.text)\(UnicodeScalar(final))"
    switch (kind, final) {
    case (UInt8(ascii: ">"), UInt8(ascii: "m")) where number == 4 || values.isEmpty:
      change(Self.keys, values.count > 2 && values.last != UInt8(ascii: "0") ? sequence : nil)
    case (UInt8(ascii: ">"), UInt8(ascii: "n")) where number == 4: change(Self.keys, nil)
    case (UInt8(ascii: ">"), UInt8(ascii: "u")):
      if pushed.count < Self.mostPushed { pushed.append(sequence) }
    case (UInt8(ascii: "<"), UInt8(ascii: "u")):
      pushed.removeLast(min(max(1, number), pushed.count))
    case (UInt8(ascii: "="), UInt8(ascii: "u")):
      // Adds to the flags, or removes some, by a second number: what is left is not known.
      guard pushed.isEmpty else { return pushed[pushed.count - 1] = "\u{1B}[>\(number)u" }
      change(Self.flags, number == 0 ? nil : sequence)
    default: break
    }
  }

  private mutating func setModes(_ parameters: Bytes, isOn: Bool) {
    for text in parameters.dropFirst().split(separator: UInt8(ascii: ";")) {
      guard let mode = Int(decimal: Bytes(text)) else { continue }
      if Self.screens.contains(mode) {
        if !isFullScreen { savedStyle = style }
        if mode == 1049, !isOn, modes.contains(1049) { style = savedStyle }
        modes.subtract(Self.screens)
      }
      guard Self.usuallyOff.contains(mode) || Self.usuallyOn.contains(mode) else { continue }
      if isOn == Self.usuallyOff.contains(mode) { modes.insert(mode) } else { modes.remove(mode) }
    }
  }
}
