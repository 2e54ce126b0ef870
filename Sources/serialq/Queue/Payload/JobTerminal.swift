import SerialqSystem

/// The terminal that a job asked for, with the size of the terminal from which it was added.
package struct JobTerminal: Equatable, Sendable {
  // As the system stores them.
  private let ownRows: UInt16
  private let ownColumns: UInt16

  package init(rows: Int, columns: Int) {
    ownRows = UInt16(clamping: rows)
    ownColumns = UInt16(clamping: columns)
  }

  /// 0 if unknown.
  package var rows: Int { Int(ownRows) }

  /// 0 if unknown.
  package var columns: Int { Int(ownColumns) }

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
  package enum Kind: Equatable, Sendable {
    /// The terminal hides what is typed.
    case password
    /// The job seems to wait for input.
    case input
  }

  package var kind: Kind
  /// The last line of the terminal, as plain text.
  package var text: Bytes

  /// The most bytes of a text.
  package static let maxText = 200

  package init(_ kind: Kind, _ text: Bytes) {
    self.kind = kind
    self.text = text
  }
}

extension Question {
  func encode(to json: inout JSONWriter) {
    json.member("kind", Bytes(kind.name))
    json.member("text", text)
  }

  /// Returns nil if there is none.
  init?(from object: inout FlatObject) throws(FlatObjectError) {
    guard object.has("kind") else { return nil }
    let word = try object.word("kind")
    let kinds = [Kind.password, .input]
    guard let kind = kinds.first(where: { word.spells($0.name) }) else { throw .malformed }
    self.init(kind, try object.bytes("text"))
  }
}

extension Question.Kind {
  /// As the journal, JSON and the on-ask command name it.
  package var name: StaticString {
    switch self {
    case .password: "password"
    case .input: "input"
    }
  }
}
