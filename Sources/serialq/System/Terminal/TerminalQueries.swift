/// The sequences that a terminal answers as if keys were typed.
package enum TerminalQueries {
  /// The output without them: requests for the type, the state, the colors or the size of the
  /// terminal, and for the position of the cursor.
  ///
  /// Also without titles, links and other strings, of which some are requests. Pure; O(count).
  package static func removed(from output: ArraySlice<UInt8>) -> Bytes {
    var (kept, rest, parser) = (Bytes(), output, SequenceParser())
    while let element = parser.next(&rest) {
      switch element {
      case .text(let text): kept += text
      case .control(let byte): if byte != enquiry { kept.append(byte) }
      // `ESC \` ends a string.
      case .escape(0, UInt8(ascii: "Z")), .escape(0, UInt8(ascii: "\\")): break
      case .escape(let intermediate, let final):
        kept += [SequenceParser.escape] + (intermediate == 0 ? [] : [intermediate]) + [final]
      case .sequence(let parameters, let final):
        if isQuery(parameters, final) { continue }
        kept += Bytes("\u{1B}[") + parameters + [final]
      }
    }
    return kept + parser.incomplete
  }

  private static let enquiry: UInt8 = 0x05

  private static func isQuery(_ parameters: Bytes, _ final: UInt8) -> Bool {
    let isModifier = parameters.first == UInt8(ascii: ">")
    switch final {
    case UInt8(ascii: "c"), UInt8(ascii: "x"): return true
    case UInt8(ascii: "n"): return !isModifier
    case UInt8(ascii: "p"): return parameters.last == UInt8(ascii: "$")
    case UInt8(ascii: "q"): return isModifier
    case UInt8(ascii: "u"): return parameters.first == UInt8(ascii: "?")
    case UInt8(ascii: "t"):
      let number = Int(digits: Bytes(parameters.prefix { $0 != UInt8(ascii: ";") })) ?? 0
      return 11...21 ~= number
    default: return false
    }
  }
}
