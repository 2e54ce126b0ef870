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

  /// Returns nil if the text is no size; see ``text``.
  init?(_ text: Bytes) {
    let parts = text.split(separator: UInt8(ascii: "x"), omittingEmptySubsequences: false)
    let numbers = parts.compactMap { Int(digits: Bytes($0)) }
    guard parts.count == 2, numbers.count == 2 else { return nil }
    self.init(rows: numbers[0], columns: numbers[1])
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
  static func code(_ question: inout Question?, _ coder: inout LineCoder) throws(FlatObjectError) {
    var text = question?.text
    try coder.bytes("asks", &text)
    guard let text else { return question = nil }
    var kind = question?.kind ?? .input
    try coder.word("kind", &kind)
    question = Question(kind, text)
  }
}
