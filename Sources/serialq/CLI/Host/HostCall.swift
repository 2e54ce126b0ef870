import SerialqSystem

/// A call of the program that another machine carries out: what that machine must know of it.
struct HostCall: Equatable {
  /// Identifies the call on all its connections.
  var key: Bytes
  /// The number of the connection, from 1: a later one replaces those before it.
  var attempt = 1
  /// Whether the call begins if the machine does not know it; otherwise it may have been lost.
  var mayBegin = true
  /// How many numbered messages the caller has received.
  var received = 0
  /// The seconds since the call was made, if it begins again.
  var elapsed = 0
  var input = Input.none
  /// Which of standard input, output and error are terminals of the caller.
  var terminals = [false, false, false]
  var window = TerminalWindow(columns: 0, rows: 0)
  /// The variables that describe the terminal, as `NAME=VALUE`.
  var variables: [Bytes] = []
  var words: [Bytes] = []

  /// What the command reads from standard input.
  enum Input: Int, Equatable, Sendable {
    case none
    /// Everything, before it does anything.
    case all
    /// The keys of a terminal.
    case keys
  }

  /// Increased when the other side would misread a message.
  static let version = 1

  /// The variables of the caller that describe its terminal.
  static let variableNames: [StaticString] = ["TERM", "COLORTERM", "NO_COLOR", "COLUMNS"]
}

/// What a command needs to know of the call that it carries out.
struct HostedCall: Equatable {
  /// With it, jobs are added only once.
  var key: Bytes
  /// The seconds since the call was made, which a time limit includes.
  var elapsed: Int

  /// Splits the words of ``HostedCommand/word``; nil if they are none.
  static func split(_ words: [Bytes]) -> (HostedCall, [Bytes])? {
    guard words.count >= 3, let elapsed = Int(digits: words[2]) else { return nil }
    return (HostedCall(key: words[1], elapsed: elapsed), Array(words.dropFirst(3)))
  }
}

/// The first message of the machine that carries out a call.
struct HostGreeting: Equatable {
  var version = HostCall.version
  /// The version of the program.
  var program = CommandTable.version
  var answer: Answer
  /// How many numbered messages it has received.
  var received = 0

  enum Answer: Int, Equatable {
    case begun, continued
    /// It does not know the call, which is not to begin.
    case unknown
    /// It does not know this version of the messages.
    case refused
  }
}

// MARK: - As bytes

extension HostCall {
  /// The version of the messages comes first in all of them.
  var fields: [Bytes] {
    let numbers = [
      Self.version, attempt, mayBegin ? 1 : 0, received, elapsed, input.rawValue,
      terminals[0] ? 1 : 0, terminals[1] ? 1 : 0, terminals[2] ? 1 : 0, window.columns, window.rows,
      variables.count,
    ]
    return numbers.map { Bytes("\($0)".utf8) } + [key] + variables + words
  }

  /// Nil if these are fields of another version, or none.
  init?(fields: [Bytes]) {
    let numbers = fields.prefix(12).map { Int(digits: $0) ?? -1 }
    guard numbers.count == 12, numbers[0] == Self.version, !numbers.contains(-1),
      let input = Input(rawValue: numbers[5]), fields.count >= 13 + numbers[11]
    else { return nil }
    // It names a file.
    guard fields[12].count == 32, fields[12].allSatisfy({ $0.isHexDigit }) else { return nil }
    self.input = input
    key = fields[12]
    attempt = numbers[1]
    mayBegin = numbers[2] == 1
    received = numbers[3]
    elapsed = numbers[4]
    terminals = numbers[6...8].map { $0 == 1 }
    window = TerminalWindow(columns: numbers[9], rows: numbers[10])
    variables = Array(fields[13..<13 + numbers[11]])
    words = Array(fields[(13 + numbers[11])...])
  }

  /// A key that no other call has.
  static func newKey() -> Bytes {
    let halves = [UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)]
    let digits = halves.map { half in
      let text = String(half, radix: 16)
      return String(repeating: "0", count: 16 - text.count) + text
    }
    return Bytes(digits.joined().utf8)
  }
}

extension HostGreeting {
  var fields: [Bytes] {
    ["\(version)", program, "\(answer.rawValue)", "\(received)"].map { Bytes($0.utf8) }
  }

  /// The first two fields are those of every version.
  init?(fields: [Bytes]) {
    guard fields.count >= 4, let version = Int(digits: fields[0]) else { return nil }
    self.version = version
    program = Visible.text(fields[1])
    guard version == HostCall.version else {
      answer = .refused
      return
    }
    guard let answer = Int(digits: fields[2]).flatMap(Answer.init),
      let received = Int(digits: fields[3])
    else { return nil }
    self.answer = answer
    self.received = received
  }
}

extension UInt8 {
  fileprivate var isHexDigit: Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
      || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self)
  }
}
