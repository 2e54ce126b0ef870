/// Converts bytes to C strings.
///
/// The bytes must not contain NUL: C would end the string there.
package enum CStrings {
  /// Calls `body` with one C string, which is valid only during the call.
  package static func with<Result>(_ string: Bytes, _ body: (UnsafePointer<CChar>) -> Result)
    -> Result
  {
    body((string + [0]).map { CChar(bitPattern: $0) })
  }

  /// Calls `body` with a null-terminated array of C strings, as `exec` expects.
  ///
  /// The array is valid only during the call.
  package static func with<Result>(
    _ strings: [Bytes], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    var pointers: [UnsafeMutablePointer<CChar>?] = strings.map { string in
      let copy = UnsafeMutablePointer<CChar>.allocate(capacity: string.count + 1)
      for (index, byte) in string.enumerated() { copy[index] = CChar(bitPattern: byte) }
      copy[string.count] = 0
      return copy
    }
    defer { for pointer in pointers { pointer?.deallocate() } }
    pointers.append(nil)
    return body(pointers)
  }
}
