extension Int {
  /// Parses a positive decimal number; digits only, so that `+1`, ` 1` and `0x1` are rejected.
  package init?(decimal digits: Bytes) {
    guard digits.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains),
      let number = Int(digits.text), number > 0
    else { return nil }
    self = number
  }
}
