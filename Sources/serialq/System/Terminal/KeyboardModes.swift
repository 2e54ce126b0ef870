/// How a terminal sends keys, as editors and shells change it: the modifyOtherKeys of xterm, and the
/// keyboard protocol of kitty.
///
/// A shell that does not expect these sequences sees no Ctrl-C. The flags of kitty are a stack.
struct KeyboardModes: Equatable, Sendable {
  /// The parameters that set the level of xterm; nil for the usual one.
  private var level: String?
  /// The first is not pushed by the program, and usually 0.
  private var flags = [0]

  /// More than a program uses; a terminal has a limit too.
  private static let most = 16

  mutating func obey(_ parameters: Bytes, _ final: UInt8) {
    guard let first = parameters.first, 0x3C...0x3E ~= first else { return }
    let values = parameters.dropFirst().split(
      separator: UInt8(ascii: ";"), omittingEmptySubsequences: false
    ).map { Int(digits: Bytes($0)) ?? 0 }
    switch (first, final) {
    case (UInt8(ascii: ">"), UInt8(ascii: "m")):
      if values[0] == 4 || values == [0] {
        level = values.count > 1 && values[1] > 0 ? "4;\(values[1])" : nil
      }
    case (UInt8(ascii: ">"), UInt8(ascii: "n")): if values[0] == 4 { level = nil }
    case (UInt8(ascii: ">"), UInt8(ascii: "u")):
      if flags.count < Self.most { flags.append(values[0]) }
    case (UInt8(ascii: "<"), UInt8(ascii: "u")):
      flags.removeLast(min(max(1, values[0]), flags.count))
      if flags.isEmpty { flags = [0] }
    case (UInt8(ascii: "="), UInt8(ascii: "u")): set(values[0], values.count > 1 ? values[1] : 1)
    default: break
    }
  }

  /// Replaces, adds or removes flags of the last entry.
  private mutating func set(_ value: Int, _ mode: Int) {
    let last = flags.count - 1
    switch mode {
    case 2: flags[last] |= value
    case 3: flags[last] &= ~value
    default: flags[last] = value
    }
  }

  /// What restores the usual state; empty if nothing is changed.
  var undo: String {
    (level == nil ? "" : "\u{1B}[>4m") + (flags.count == 1 ? "" : "\u{1B}[<\(flags.count - 1)u")
      + (flags[0] == 0 ? "" : "\u{1B}[=0u")
  }

  /// What changes the usual state to this one.
  var redo: String {
    (level.map { "\u{1B}[>\($0)m" } ?? "") + (flags[0] == 0 ? "" : "\u{1B}[=\(flags[0])u")
      + flags.dropFirst().map { "\u{1B}[>\($0)u" }.joined()
  }
}
