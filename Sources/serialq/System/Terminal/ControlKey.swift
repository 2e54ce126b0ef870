/// A key that is pressed together with Ctrl.
package struct ControlKey: Equatable, Sendable {
  /// What a terminal sends for it: 0x00 to 0x1F.
  package let byte: UInt8

  /// Creates the key that sends this byte, which must be below 0x20.
  package init(_ byte: UInt8) { self.byte = byte & 0x1F }

  /// `Ctrl-\`, which leaves a job as it leaves a session of dtach and abduco.
  package static let backslash = ControlKey(0x1C)

  /// The name in messages: `Ctrl-\` or `Ctrl-A`.
  package var name: String { "Ctrl-\(Character(UnicodeScalar(byte | 0x40)))" }

  /// Where the key is first found in what a terminal has sent, or nil.
  ///
  /// A program can make the terminal send a sequence in place of the byte: `ESC [ 92 ; 5 u`, or
  /// `ESC [ 27 ; 5 ; 92 ~` as xterm does for an editor. Recognizes a sequence only as a whole: a
  /// terminal sends it in one write.
  package func range(in keys: Bytes) -> Range<Int>? {
    for start in keys.indices {
      if keys[start] == byte { return start..<start + 1 }
      if let end = sequenceEnd(in: keys[start...]) { return start..<end }
    }
    return nil
  }

  /// The end of the key's sequence at the start of `keys`, or nil.
  private func sequenceEnd(in keys: ArraySlice<UInt8>) -> Int? {
    guard keys.starts(with: Bytes("\u{1B}[")) else { return nil }
    let rest = keys.dropFirst(2)
    // Digits, colons and semicolons.
    guard let end = rest.firstIndex(where: { !(0x30...0x3B).contains($0) }) else { return nil }
    let fields = rest[..<end].split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
      .map { field in
        field.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map {
          Int(digits: Bytes($0)) ?? 0
        }
      }
    let isPressed =
      switch keys[end] {
      case UInt8(ascii: "u"): fields.count >= 2 && isPressed(fields[0], with: fields[1])
      case UInt8(ascii: "~"):
        fields.count == 3 && fields[0] == [27] && isPressed(fields[2], with: fields[1])
      default: false
      }
    return isPressed ? end + 1 : nil
  }

  /// Whether these are the numbers of the key and of its modifiers, and it is not released.
  private func isPressed(_ key: [Int], with modifiers: [Int]) -> Bool {
    // Shift is needed for some signs, and the two locks change nothing: 1, 64 and 128.
    let isControl = modifiers[0] > 0 && (modifiers[0] - 1) & ~(1 | 64 | 128) == 4
    let isReleased = modifiers.count > 1 && modifiers[1] == 3
    let sign = Int(byte | 0x40)
    let letter = (0x41...0x5A).contains(sign) ? sign | 0x20 : sign
    return isControl && !isReleased && (key[0] == sign || key[0] == letter)
  }
}
