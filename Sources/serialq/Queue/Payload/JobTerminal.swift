import SerialqSystem

/// The terminal that a job asked for, with the size of the terminal from which it was added.
package struct JobTerminal: Equatable, Sendable {
  /// 0 if unknown.
  package let rows: UInt16
  /// 0 if unknown.
  package let columns: UInt16

  package init(rows: Int, columns: Int) {
    self.rows = UInt16(clamping: rows)
    self.columns = UInt16(clamping: columns)
  }

  /// A terminal for a job that was added without one.
  package static let unknownSize = JobTerminal(rows: 0, columns: 0)
}

extension JobTerminal {
  /// `24x80`.
  package var text: String { "\(rows)x\(columns)" }

  func encode(to json: inout JSONWriter) { json.member("terminal", Bytes(text.utf8)) }

  /// Returns nil if there is none.
  init?(from object: inout FlatObject) throws(FlatObjectError) {
    guard let text = try object.optionalBytes("terminal") else { return nil }
    let parts = text.split(separator: UInt8(ascii: "x"), omittingEmptySubsequences: false)
    let numbers = parts.compactMap { Int(digits: Bytes($0)) }
    guard parts.count == 2, numbers.count == 2 else { throw .malformed }
    self.init(rows: numbers[0], columns: numbers[1])
    // Also a number that is too large.
    guard Bytes(self.text.utf8) == text else { throw .malformed }
  }
}

/// What a running job seems to ask on its terminal.
package struct Question: Equatable, Sendable {
  /// As the journal, JSON and the on-ask command name it.
  package enum Kind: String, Sendable {
    /// The terminal hides what is typed.
    case password
    /// The job seems to wait for input.
    case input
  }

  package var kind: Kind
  /// The last line of the terminal, as plain text.
  package var text: Bytes

  /// The most bytes of a text; more of a line says no more.
  package static let maxText = 200

  package init(_ kind: Kind, _ text: Bytes) {
    self.kind = kind
    self.text = text
  }
}

extension Question {
  func encode(to json: inout JSONWriter) {
    json.member("kind", Bytes(kind.rawValue.utf8))
    json.member("text", text)
  }

  /// Returns nil if there is none.
  init?(from object: inout FlatObject) throws(FlatObjectError) {
    guard object.has("kind") else { return nil }
    let word = String(decoding: try object.word("kind"), as: UTF8.self)
    guard let kind = Kind(rawValue: word) else { throw .malformed }
    self.init(kind, try object.bytes("text"))
  }
}
