import SerialqQueue
import SerialqSystem

/// A message between an attached terminal and the keeper of a job's terminal.
///
/// On the socket: a byte for the kind, the length of the payload in two bytes, the higher one
/// first, and the payload.
package enum AttachMessage: Equatable, Sendable {
  /// From a terminal, first: its size. The payload starts with the version.
  case hello(TerminalWindow)
  /// From a terminal: keys that were typed, as bytes.
  case keys(Bytes)
  /// From a terminal: its new size.
  case size(TerminalWindow)
  /// From the keeper: output of the job.
  case output(Bytes)
  /// From the keeper: whether the keys of this terminal reach the job.
  case typing(Bool)
  /// From the keeper, last: the job is over.
  case over

  /// The most bytes of ``keys(_:)`` and ``output(_:)``.
  package static let longest = 1 << 15

  private static let version: UInt8 = 1

  private enum Kind: UInt8 {
    case hello = 1
    case keys, size, output, typing, over
  }

  /// The message as it is sent.
  package var encoded: Bytes {
    switch self {
    case .hello(let window): Self.frame(.hello, [Self.version] + Self.bytes(of: window))
    case .keys(let keys): Self.frame(.keys, keys)
    case .size(let window): Self.frame(.size, Self.bytes(of: window))
    case .output(let output): Self.frame(.output, output)
    case .typing(let isTyping): Self.frame(.typing, [isTyping ? 1 : 0])
    case .over: Self.frame(.over, [])
    }
  }

  private static func frame(_ kind: Kind, _ payload: Bytes) -> Bytes {
    precondition(payload.count <= longest)
    return [kind.rawValue] + bytes(payload.count) + payload
  }

  private static func bytes(of window: TerminalWindow) -> Bytes {
    bytes(window.rows) + bytes(window.columns)
  }

  private static func bytes(_ number: Int) -> Bytes {
    let number = UInt16(clamping: number)
    return [UInt8(number >> 8), UInt8(number & 0xFF)]
  }

  private init?(_ kind: UInt8, _ payload: ArraySlice<UInt8>) {
    switch (Kind(rawValue: kind), payload.count) {
    case (.hello, 5):
      guard payload.first == Self.version else { return nil }
      self = .hello(TerminalWindow(payload.dropFirst()))
    case (.keys, _): self = .keys(Bytes(payload))
    case (.size, 4): self = .size(TerminalWindow(payload))
    case (.output, _): self = .output(Bytes(payload))
    case (.typing, 1): self = .typing(payload.first != 0)
    case (.over, 0): self = .over
    default: return nil
    }
  }

  /// Splits what arrives on a socket into messages.
  package struct Reader: Sendable {
    private var bytes = Bytes()

    package init() {}

    /// Appends what was read.
    package mutating func add(_ new: Bytes) { bytes += new }

    /// Returns the next complete message, nil if there is none; fails if the bytes are not of this
    /// protocol.
    package mutating func next() throws(Failure) -> AttachMessage? {
      guard bytes.count >= 3 else { return nil }
      let count = Int(bytes[1]) << 8 | Int(bytes[2])
      // Checked before all of it has arrived: another program may wait for an answer.
      guard count <= AttachMessage.longest, Kind(rawValue: bytes[0]) != nil else {
        throw Reader.malformed
      }
      guard bytes.count >= 3 + count else { return nil }
      guard let message = AttachMessage(bytes[0], bytes[3..<(3 + count)]) else {
        throw Reader.malformed
      }
      bytes.removeFirst(3 + count)
      return message
    }

    private static let malformed = Failure(
      "the terminal of the job", "another version of serialq serves it",
      next: """
        Attach with the version that started the job, or wait for its end: \(advised("log")) -f
        """)
  }
}

extension TerminalWindow {
  /// Reads rows and columns of two bytes each.
  fileprivate init(_ bytes: ArraySlice<UInt8>) {
    let numbers = bytes.map(Int.init)
    self.init(columns: numbers[2] << 8 | numbers[3], rows: numbers[0] << 8 | numbers[1])
  }
}
