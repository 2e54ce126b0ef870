import SerialqQueue
import SerialqSystem

/// A message between a caller and the machine that carries out its call.
///
/// As bytes: a letter, the length of the rest in four bytes, the highest first, and the rest.
enum HostMessage: Equatable {
  /// The first of the caller, on each connection.
  case call(HostCall)
  /// The first of the machine, on each connection.
  case greeting(HostGreeting)
  /// How many numbered messages have been received.
  case acknowledged(Int)
  case input(Bytes)
  case inputEnd
  case signal(Int32)
  case window(TerminalWindow)
  /// The caller's standard output is closed.
  case outputClosed
  /// The caller has gone, and its connection has not.
  case left
  /// For standard output and for standard error.
  case output(Bytes)
  case errors(Bytes)
  case ended(Ending)

  /// Whether it is delivered exactly once, also when a connection is lost.
  var isNumbered: Bool {
    switch self {
    case .call, .greeting, .acknowledged, .left: false
    case .input, .inputEnd, .signal, .window, .outputClosed, .output, .errors, .ended: true
    }
  }

  /// What precedes the first message: a login shell may print something before.
  static let opening = Bytes("\u{2}serialq-host\n")

  /// The most bytes of a message; arguments have a lower limit.
  static let most = 1 << 26

  /// The most bytes of a piece of input or output.
  static let piece = 1 << 16
}

extension HostMessage {
  var encoded: Bytes {
    let (letter, rest) = parts
    let length = UInt32(rest.count)
    return [UInt8(ascii: letter)] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) }
      + rest
  }

  private var parts: (UnicodeScalar, Bytes) {
    switch self {
    case .call(let call): ("C", Fields.bytes(call.fields))
    case .greeting(let greeting): ("G", Fields.bytes(greeting.fields))
    case .acknowledged(let count): ("A", Bytes("\(count)".utf8))
    case .input(let bytes): ("i", bytes)
    case .inputEnd: ("z", [])
    case .signal(let number): ("s", Bytes("\(number)".utf8))
    case .window(let window): ("w", Bytes("\(window.columns) \(window.rows)".utf8))
    case .outputClosed: ("c", [])
    case .left: ("L", [])
    case .output(let bytes): ("o", bytes)
    case .errors(let bytes): ("e", bytes)
    case .ended(.killed(let signal)): ("k", Bytes("\(signal)".utf8))
    case .ended(let how): ("x", Bytes("\(how.shellCode.rawValue)".utf8))
    }
  }

  /// Nil if no version of the messages has such a message.
  init?(_ letter: UInt8, _ rest: Bytes) {
    let numbers =
      rest.count > 20
      ? []
      : rest.split(separator: UInt8(ascii: " ")).map {
        Int(digits: Bytes($0)) ?? -1
      }
    func number(_ limit: Int = .max) -> Int? {
      numbers.count == 1 && (0...limit).contains(numbers[0]) ? numbers[0] : nil
    }
    switch UnicodeScalar(letter) {
    case "C":
      guard let call = Fields.list(rest).flatMap(HostCall.init) else { return nil }
      self = .call(call)
    case "G":
      guard let greeting = Fields.list(rest).flatMap(HostGreeting.init) else { return nil }
      self = .greeting(greeting)
    case "A":
      guard let count = number() else { return nil }
      self = .acknowledged(count)
    case "i": self = .input(rest)
    case "z": self = .inputEnd
    case "s":
      guard let signal = number(64) else { return nil }
      self = .signal(Int32(signal))
    case "w":
      guard numbers.count == 2, numbers.allSatisfy((0...65_535).contains) else { return nil }
      self = .window(TerminalWindow(columns: numbers[0], rows: numbers[1]))
    case "c": self = .outputClosed
    case "L": self = .left
    case "o": self = .output(rest)
    case "e": self = .errors(rest)
    case "k":
      guard let signal = number(64) else { return nil }
      self = .ended(.killed(Int32(signal)))
    case "x":
      guard let code = number(255) else { return nil }
      self = .ended(.exited(Int32(code)))
    default: return nil
    }
  }
}

/// A list of byte strings, each after its length in four bytes.
private enum Fields {
  static func bytes(_ fields: [Bytes]) -> Bytes {
    var bytes: Bytes = []
    for field in fields {
      let length = UInt32(field.count)
      bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) }
      bytes += field
    }
    return bytes
  }

  static func list(_ bytes: Bytes) -> [Bytes]? {
    var fields: [Bytes] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      guard let count = HostMessageDecoder.number(rest), rest.count - 4 >= count else { return nil }
      fields.append(Bytes(rest.dropFirst(4).prefix(count)))
      rest = rest.dropFirst(4 + count)
    }
    return fields
  }
}

/// Finds the messages in what a connection delivers.
struct HostMessageDecoder {
  private var bytes: Bytes = []
  private var start = 0
  private var isOpen = false

  /// The bytes after the messages so far.
  var rest: Bytes { Bytes(bytes[start...]) }

  mutating func append(_ new: Bytes) {
    bytes.removeSubrange(..<start)
    start = 0
    bytes += new
  }

  enum Next: Equatable {
    case message(HostMessage)
    /// The rest of the next one has not come yet.
    case incomplete
    /// The other side does not send messages of this version.
    case unknown
  }

  /// Takes the next message.
  mutating func next() -> Next {
    guard isOpen || open() else { return .incomplete }
    guard bytes.count - start >= 5 else { return .incomplete }
    let head = bytes[start...]
    guard let count = Self.number(head.dropFirst()), count <= HostMessage.most else {
      return .unknown
    }
    guard head.count >= 5 + count else { return .incomplete }
    let body = Bytes(head.dropFirst(5).prefix(count))
    let letter = bytes[start]
    start += 5 + count
    return HostMessage(letter, body).map { .message($0) } ?? .unknown
  }

  /// Skips what comes before the first message.
  private mutating func open() -> Bool {
    let opening = HostMessage.opening
    while bytes.count - start >= opening.count {
      if bytes[start] == opening[0], bytes[start...].starts(with: opening) {
        start += opening.count
        isOpen = true
        return true
      }
      start += 1
    }
    return false
  }

  /// The number in the first four bytes.
  static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
    guard bytes.count >= 4 else { return nil }
    return bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
  }
}
