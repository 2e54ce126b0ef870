/// The sequences that a terminal answers as if keys were typed.
package enum TerminalQueries {
  /// The output without them: requests for the type, the state, the colors or the size of the
  /// terminal, the position of the cursor, and all device control strings.
  ///
  /// Pure; O(count).
  package static func removed(from output: ArraySlice<UInt8>) -> Bytes {
    var kept = Bytes()
    var rest = output
    while let start = rest.firstIndex(where: { $0 == SequenceParser.escape || $0 == enquiry }) {
      kept += rest[..<start]
      let (end, isQuery) = sequence(at: start, in: rest)
      if !isQuery { kept += rest[start..<end] }
      rest = rest[end...]
    }
    return kept + rest
  }

  private static let enquiry: UInt8 = 0x05
  private static let bell: UInt8 = 0x07
  private static let question = UInt8(ascii: "?")

  /// The end of a sequence, and whether it is a query; an incomplete one ends with the output.
  private static func sequence(
    at start: Int, in output: ArraySlice<UInt8>
  ) -> (end: Int, isQuery: Bool) {
    let body = output[(start + 1)...]
    guard output[start] == SequenceParser.escape, let first = body.first else {
      return (start + 1, output[start] == enquiry)
    }
    switch first {
    case UInt8(ascii: "["):
      let parameters = body.dropFirst().prefix { 0x20...0x3F ~= $0 }
      guard parameters.endIndex < output.endIndex else { return (output.endIndex, false) }
      let final = output[parameters.endIndex]
      // A control character or an escape: not a sequence as programs write it.
      guard final >= 0x40 else { return (parameters.endIndex, false) }
      return (parameters.endIndex + 1, isQuery(parameters, final))
    case UInt8(ascii: "]"), UInt8(ascii: "P"):
      let text = body.dropFirst().prefix { $0 != bell && $0 != SequenceParser.escape }
      guard text.endIndex < output.endIndex else { return (output.endIndex, false) }
      // The bell, or the two bytes of the string terminator.
      let length = output[text.endIndex] == bell ? 1 : 2
      let end = min(output.endIndex, text.endIndex + length)
      return (end, first == UInt8(ascii: "P") || text.last == question)
    default: return (start + 2, first == UInt8(ascii: "Z"))
    }
  }

  private static func isQuery(_ parameters: ArraySlice<UInt8>, _ final: UInt8) -> Bool {
    let isModifier = parameters.first == UInt8(ascii: ">")
    switch final {
    case UInt8(ascii: "c"), UInt8(ascii: "x"): return true
    case UInt8(ascii: "n"): return !isModifier
    case UInt8(ascii: "p"): return parameters.last == UInt8(ascii: "$")
    case UInt8(ascii: "q"): return isModifier
    case UInt8(ascii: "u"): return parameters.first == question
    case UInt8(ascii: "t"):
      let number = Int(digits: Bytes(parameters.prefix { $0 != UInt8(ascii: ";") })) ?? 0
      return 11...21 ~= number
    default: return false
    }
  }
}
