/// Text as the system provides it: arguments, paths and environments need not be UTF-8.
package typealias Bytes = [UInt8]

extension Array where Element == UInt8 {
  package init(_ text: StaticString) {
    self = text.withUTF8Buffer { Array($0) }
  }

  /// The bytes as text, not escaped; invalid UTF-8 becomes U+FFFD.
  ///
  /// To show untrusted text, use ``Visible``.
  package var text: String { String(decoding: self, as: UTF8.self) }

  /// The path of an entry in the folder that this path names.
  package func appending(path name: Bytes) -> Bytes {
    var path = Bytes()
    // Else it would be copied twice more.
    path.reserveCapacity(count + 1 + name.count)
    path += self
    if path.last != UInt8(ascii: "/") { path.append(UInt8(ascii: "/")) }
    path += name
    return path
  }
}

extension UInt8 {
  /// Whether a shell treats the byte as blank; includes a lone carriage return.
  package var isBlank: Bool {
    self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") || self == UInt8(ascii: "\r")
  }

  /// Whether a command of only such bytes does nothing.
  package var isSpace: Bool { isBlank || self == UInt8(ascii: "\n") }
}
