extension SequenceParser.Element {
  /// Whether a terminal answers this as if keys were typed: a request for its type, its state, its
  /// colors or its size, or for the position of the cursor.
  ///
  /// The parser drops titles, links and other strings, of which some are requests.
  package var isQuery: Bool {
    switch self {
    case .text: false
    // ENQ
    case .control(let byte): byte == 0x05
    // `ESC \` ends a string.
    case .escape(let intermediate, let final):
      intermediate == 0 && (final == UInt8(ascii: "Z") || final == UInt8(ascii: "\\"))
    case .sequence(let parameters, let final): Self.isQuery(parameters, final)
    }
  }

  private static func isQuery(_ parameters: Bytes, _ final: UInt8) -> Bool {
    if let last = parameters.last, 0x20...0x2F ~= last {
      // Of these, programs need the shape of the cursor and the soft reset.
      return ![Bytes(" q"), Bytes("!p")].contains([last, final])
    }
    let marker = parameters.first ?? 0
    switch final {
    case UInt8(ascii: "c"), UInt8(ascii: "x"): return true
    case UInt8(ascii: "n"): return marker != UInt8(ascii: ">")
    case UInt8(ascii: "q"): return marker == UInt8(ascii: ">")
    case UInt8(ascii: "u"), UInt8(ascii: "m"), UInt8(ascii: "g"), UInt8(ascii: "S"):
      return marker == UInt8(ascii: "?")
    case UInt8(ascii: "t"):
      let number = Int(digits: Bytes(parameters.prefix { $0 != UInt8(ascii: ";") })) ?? 0
      return 11...21 ~= number
    default: return false
    }
  }

  /// Appends the bytes that this was parsed from.
  package func append(to output: inout Bytes) {
    switch self {
    case .text(let text): output += text
    case .control(let byte): output.append(byte)
    case .escape(0, let final): output += [SequenceParser.escape, final]
    case .escape(let intermediate, let final):
      output += [SequenceParser.escape, intermediate, final]
    case .sequence(let parameters, let final):
      output += Bytes("\u{1B}[") + parameters + [final]
    }
  }
}
