import SerialqSystem

/// One side of the messages of a call, which are delivered once and in order although connections
/// are lost.
///
/// Numbers the messages that it sends by counting them, keeps each until the other side has
/// acknowledged it, and sends the others again on the next connection. Pure: reads and writes
/// nothing.
///
/// - *unconnected* → connected (``connect(received:)``);
/// - *connected* → unconnected (``disconnect()``).
struct CallStream {
  /// How many numbered messages have been received.
  private(set) var received = 0
  /// The messages that are kept, as bytes, and the number of those before them.
  private var kept: [Bytes] = []
  private var first = 0
  /// The message to send next; nil while there is no connection.
  private var next: Int?
  /// Since the last acknowledgement.
  private var bytesReceived = 0
  /// How many bytes the kept messages have.
  private(set) var size = 0
  /// Whether acknowledged messages are kept too, so that the call can begin again.
  private let keepsAll: Bool

  init(keepsAll: Bool = false) {
    self.keepsAll = keepsAll
  }

  /// Above this, the owner should not produce more.
  static let room = 1 << 20

  /// How much can be received before it must be acknowledged.
  private static let window = 1 << 18

  /// How much input is kept for a call to begin again.
  private static let mostKept = 1 << 26

  /// Whether messages wait for an acknowledgement, so many that the owner should not produce more.
  var isFull: Bool { unacknowledged > Self.room }

  private var unacknowledged = 0
  /// How many messages the other side has acknowledged.
  private var settled = 0

  /// Whether the other side has acknowledged everything.
  var isSettled: Bool { settled == first + kept.count }

  /// Whether every message since the beginning is still there.
  var isComplete: Bool { first == 0 }

  /// Queues a numbered message.
  mutating func send(_ message: HostMessage) {
    let bytes = message.encoded
    kept.append(bytes)
    size += bytes.count
    unacknowledged += bytes.count
  }

  /// Begins a connection whose other side has received this many messages.
  mutating func connect(received count: Int) {
    settle(count)
    next = max(first, min(count, first + kept.count))
    // The first message of the connection acknowledges them.
    bytesReceived = 0
  }

  mutating func disconnect() { next = nil }

  /// Begins again from the first message, for a machine that does not know the call.
  ///
  /// Requires ``isComplete``.
  mutating func beginAgain() {
    settled = 0
    unacknowledged = size
    received = 0
  }

  /// The bytes to send next; nil if there is nothing to send now.
  mutating func takeBytes() -> Bytes? {
    guard let next else { return nil }
    if next < first + kept.count {
      self.next = next + 1
      return kept[next - first]
    }
    guard bytesReceived > Self.window else { return nil }
    return acknowledgement()
  }

  /// The message that acknowledges what has been received.
  mutating func acknowledgement() -> Bytes {
    bytesReceived = 0
    return HostMessage.acknowledged(received).encoded
  }

  /// Notes a message of the other side.
  mutating func note(_ message: HostMessage) {
    if case .acknowledged(let count) = message { settle(count) }
    guard message.isNumbered else { return }
    received += 1
    switch message {
    case .input(let bytes), .output(let bytes), .errors(let bytes): bytesReceived += bytes.count
    default: bytesReceived += 16
    }
  }

  private mutating func settle(_ count: Int) {
    while settled < min(count, first + kept.count) {
      unacknowledged -= kept[settled - first].count
      settled += 1
    }
    guard !keepsAll || size > Self.mostKept else { return }
    let count = settled - first
    guard count > 0 else { return }
    size -= kept[..<count].reduce(0) { $0 + $1.count }
    kept.removeFirst(count)
    first = settled
  }
}
