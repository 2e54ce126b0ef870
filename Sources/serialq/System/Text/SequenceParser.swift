/// Splits the output of a program into text and control sequences, as a terminal does.
///
/// Pure; the output may be split anywhere. Keeps at most ``longest`` bytes of it.
///
/// - *text* → escape
/// - *escape* → text | intermediate | sequence | string
/// - *intermediate* → text
/// - *sequence* → text
/// - *string* → text
///
/// An escape character begins anew in every state.
package struct SequenceParser: Equatable, Sendable {
  /// A part of the output that has one meaning.
  package enum Element: Equatable {
    /// Bytes without control characters; the last character may continue in the next text.
    case text(ArraySlice<UInt8>)
    /// A control character, such as a line end; also one in the middle of a sequence.
    case control(UInt8)
    /// A short sequence: `ESC ( 0` has an intermediate character, `ESC 7` has none, which is 0.
    case escape(intermediate: UInt8, final: UInt8)
    /// A sequence with parameters: `ESC [ 1 ; 31 m`.
    case sequence(parameters: Bytes, final: UInt8)
  }

  private enum State: Equatable {
    case text, escape
    case intermediate(UInt8)
    case sequence
    /// A title or another string, which has no effect on the text.
    case string(UInt8)
  }

  private var state = State.text
  private var parameters = Bytes()

  package init() {}

  package static let escape: UInt8 = 0x1B
  private static let delete: UInt8 = 0x7F
  private static let bell: UInt8 = 0x07
  /// Both end an incomplete sequence.
  private static let (cancel, substitute): (UInt8, UInt8) = (0x18, 0x1A)
  /// Sequences with more parameters are dropped.
  private static let longest = 256

  /// The start of an incomplete sequence, which the next bytes complete; of a string only its
  /// start.
  package var incomplete: Bytes {
    switch state {
    case .text: []
    case .escape: [Self.escape]
    case .intermediate(let byte), .string(let byte): [Self.escape, byte]
    case .sequence: [Self.escape, UInt8(ascii: "[")] + parameters
    }
  }

  /// Removes the next element from the start of `rest`; returns nil at the end.
  package mutating func next(_ rest: inout ArraySlice<UInt8>) -> Element? {
    while let byte = rest.first {
      if state == .text, !Self.isControl(byte) {
        let end = rest.firstIndex(where: Self.isControl) ?? rest.endIndex
        defer { rest = rest[end...] }
        return .text(rest[..<end])
      }
      if byte >= 0x80, isShort {
        // No short sequence ends like this.
        state = .text
        continue
      }
      rest = rest.dropFirst()
      if let element = take(byte) { return element }
    }
    return nil
  }

  private var isShort: Bool {
    switch state {
    case .escape, .intermediate: true
    case .text, .sequence, .string: false
    }
  }

  private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == delete }

  private mutating func take(_ byte: UInt8) -> Element? {
    if Self.isControl(byte) { return control(byte) }
    switch state {
    case .text, .string: return nil
    case .escape: return begin(byte)
    case .intermediate(let first):
      guard byte >= 0x30 else { return nil }
      state = .text
      return .escape(intermediate: first, final: byte)
    case .sequence:
      guard 0x40...0x7E ~= byte else {
        if byte < 0x40, parameters.count < Self.longest { parameters.append(byte) }
        return nil
      }
      state = .text
      defer { parameters = [] }
      return parameters.count < Self.longest
        ? .sequence(parameters: parameters, final: byte) : nil
    }
  }

  private mutating func control(_ byte: UInt8) -> Element? {
    switch byte {
    case Self.escape: state = .escape
    case Self.cancel, Self.substitute: state = .text
    default:
      guard case .string = state else { return .control(byte) }
      if byte == Self.bell { state = .text }
    }
    return nil
  }

  private mutating func begin(_ byte: UInt8) -> Element? {
    switch byte {
    case UInt8(ascii: "["):
      state = .sequence
      parameters = []
    case UInt8(ascii: "]"), UInt8(ascii: "P"), UInt8(ascii: "X"), UInt8(ascii: "^"),
      UInt8(ascii: "_"):
      state = .string(byte)
    case 0x20...0x2F: state = .intermediate(byte)
    case 0x30...0x7E:
      state = .text
      return .escape(intermediate: 0, final: byte)
    default: break
    }
    return nil
  }
}
