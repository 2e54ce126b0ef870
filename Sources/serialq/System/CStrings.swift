// Conversions to and from C strings, which end at the first NUL.

extension Array where Element == UInt8 {
  package init(cString: UnsafePointer<CChar>) {
    self.init(UnsafeRawBufferPointer(start: cString, count: strlen(cString)))
  }

  /// Calls `body` with the bytes as a C string, which is valid only during the call.
  package func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: count + 1) { buffer in
      for (index, byte) in enumerated() { buffer[index] = CChar(bitPattern: byte) }
      buffer[count] = 0
      guard let base = buffer.baseAddress else { preconditionFailure("never empty") }
      return body(base)
    }
  }
}

extension Array where Element == Bytes {
  /// Calls `body` with a null-terminated array of C strings, as `exec` expects.
  ///
  /// The array is valid only during the call.
  package func withCStrings<Result>(
    _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    let pointers = map { string in
      string.withCString { string in
        guard let copy = strdup(string) else { preconditionFailure("out of memory") }
        return copy
      }
    }
    defer { for pointer in pointers { free(pointer) } }
    return body(pointers + [nil])
  }
}
