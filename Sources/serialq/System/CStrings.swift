/// Bytes as C takes them.
///
/// What is handed over must hold no NUL: C would take it for the end.
package enum CStrings {
  /// Calls `body` with one string, which lives no longer than the call.
  package static func with<Result>(_ string: Bytes, _ body: (UnsafePointer<CChar>) -> Result)
    -> Result
  {
    body((string + [0]).map { CChar(bitPattern: $0) })
  }

  /// Calls `body` with a list of strings ended by a null pointer, as `exec` takes arguments; it
  /// lives no longer than the call.
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
