extension FixedWidthInteger {
  /// Parses a decimal number; digits only, so that `+1`, ` 1` and `0x1` are rejected.
  package init?(digits: Bytes) {
    guard digits.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else { return nil }
    self.init(digits.text)
  }
}

extension Int {
  /// Parses a positive decimal number.
  package init?(decimal digits: Bytes) {
    guard let number = Int(digits: digits), number > 0 else { return nil }
    self = number
  }
}
