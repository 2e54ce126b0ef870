/// Text as the system has it: arguments, paths and environments need not be UTF-8.
typealias Bytes = [UInt8]

extension Array where Element == UInt8 {
  init(_ text: StaticString) {
    self = text.withUTF8Buffer { Array($0) }
  }

  /// The bytes as text for people; what is not UTF-8 is shown as U+FFFD.
  var text: String { String(decoding: self, as: UTF8.self) }
}
