// Conversions to and from C strings, which end at the first NUL.

extension Array where Element == UInt8 {
  package init(cString: UnsafePointer<CChar>) {
    self.init(UnsafeRawBufferPointer(start: cString, count: strlen(cString)))
  }

  /// Whether no C string can hold the bytes; by `memchr(3)`, which compares many at a time.
  package var containsNUL: Bool {
    withUnsafeBytes { bytes in
      bytes.baseAddress.map { memchr($0, 0, bytes.count) != nil } ?? false
    }
  }

  /// Calls `body` with the bytes as a C string, which is valid only during the call.
  package func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: count + 1) { buffer in
      guard let base = buffer.baseAddress else { preconditionFailure("never empty") }
      copy(to: base)
      return body(base)
    }
  }

  /// Copies the bytes and a final NUL.
  fileprivate func copy(to target: UnsafeMutablePointer<CChar>) {
    withUnsafeBytes { bytes in
      if let base = bytes.baseAddress { memcpy(target, base, bytes.count) }
    }
    target[count] = 0
  }
}

extension Array where Element == Bytes {
  /// Calls `body` with a null-terminated array of C strings, as `exec` expects.
  ///
  /// The array is valid only during the call.
  package func withCStrings<Result>(
    _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    let size = reduce(1) { $0 + $1.count + 1 }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) { characters in
      withUnsafeTemporaryAllocation(
        of: UnsafeMutablePointer<CChar>?.self, capacity: count + 1
      ) { pointers in
        guard var next = characters.baseAddress, let strings = pointers.baseAddress else {
          preconditionFailure("never empty")
        }
        for (index, string) in enumerated() {
          (strings + index).initialize(to: next)
          string.copy(to: next)
          next += string.count + 1
        }
        (strings + count).initialize(to: nil)
        return body(strings)
      }
    }
  }
}
