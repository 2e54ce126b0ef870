import SerialqSystem

/// What the keeper sends to one attached terminal.
///
/// Pure. A terminal that stops reading holds up nothing: when too much waits for it, what waits is
/// dropped, and it is painted anew when it reads again.
struct Viewer {
  private(set) var window: TerminalWindow?
  private var reader = AttachMessage.Reader()
  /// Encoded messages, of which the first `sent` bytes are sent.
  private var pending = Bytes()
  private var sent = 0
  /// Where the message that is partly sent ends; nothing before it may be dropped.
  private var boundaries: [Int] = []
  private var isBehind = false
  /// Whether this terminal types; nil before the first message about it.
  private var types: Bool?

  /// The most bytes that wait for one terminal.
  static let most = 1 << 20

  /// Whether something waits to be sent.
  var hasOutput: Bool { sent < pending.count || isBehind }

  /// Takes what was read from the socket, and returns the messages in it; fails if it is not of the
  /// protocol.
  mutating func receive(_ bytes: Bytes) throws(Failure) -> [AttachMessage] {
    reader.add(bytes)
    var messages: [AttachMessage] = []
    while let message = try reader.next() {
      if case .hello(let size) = message { window = size }
      if case .size(let size) = message { window = size }
      messages.append(message)
    }
    return messages
  }

  /// Queues output of the job.
  mutating func show(_ output: Bytes) {
    // Before the first message, the terminal's size is unknown, and it will be painted.
    guard window != nil, !isBehind else { return }
    guard pending.count - sent + output.count <= Self.most else { return drop() }
    queue(output)
  }

  /// Queues what paints the terminal; if it was behind, in place of what was dropped.
  mutating func paint(_ repaint: Bytes) {
    // What was dropped may have ended a line, or left the alternate screen.
    if isBehind {
      queue(TerminalModes.reset + Bytes("\r\n".utf8))
      // The message may have been dropped.
      if let types { append(.typing(types)) }
    }
    isBehind = false
    queue(repaint)
  }

  /// Queues a message that is not output.
  mutating func tell(_ message: AttachMessage) {
    if case .typing(let value) = message { types = value }
    append(message)
  }

  /// Queues that the job is over, after all of its output.
  mutating func end(_ repaint: () -> Bytes) {
    // What is left of the output is short, so nothing need be waited for.
    if isBehind { paint(repaint()) }
    append(.over)
  }

  /// The bytes to write next; if the terminal is behind, calls `repaint` first.
  mutating func next(_ repaint: () -> Bytes) -> ArraySlice<UInt8> {
    if isBehind, sent == pending.count { paint(repaint()) }
    return pending[sent...]
  }

  /// Notes that the first bytes of ``next(_:)`` are sent.
  mutating func note(sent count: Int) {
    sent += count
    boundaries.removeAll { $0 <= sent }
    if sent == pending.count {
      pending.removeAll(keepingCapacity: pending.count <= 1 << 16)
      sent = 0
      boundaries = []
    }
  }

  private mutating func queue(_ output: Bytes) {
    var rest = output[...]
    while !rest.isEmpty {
      append(.output(Bytes(rest.prefix(AttachMessage.longest))))
      rest = rest.dropFirst(AttachMessage.longest)
    }
  }

  private mutating func append(_ message: AttachMessage) {
    pending += message.encoded
    boundaries.append(pending.count)
  }

  /// Drops all that waits, except the rest of a message of which a part is sent.
  private mutating func drop() {
    let end = sent == 0 ? 0 : boundaries.first ?? pending.count
    pending.removeSubrange(end...)
    boundaries.removeAll { $0 > end }
    isBehind = true
  }
}
