import SerialqRunner
import SerialqSystem

/// Decides what a terminal that is attached to a job sends and shows; reads and writes nothing.
///
/// - *attached* → leaving (the detach key), ending (the keeper closes the connection)
/// - *ending* → ended (everything is shown), leaving (the detach key)
struct AttachState {
  private let detachKey: ControlKey
  private var reader = AttachMessage.Reader()
  /// Encoded messages to send to the keeper.
  private(set) var outgoing = Bytes()
  /// What to write to the terminal.
  private(set) var output = Bytes()
  /// What has been written to the terminal.
  private var screen = Screen()
  private var window = TerminalWindow(columns: 0, rows: 0)
  /// Whether the keys reach the job.
  private var isTyping = true
  /// Whether the keeper has answered; it does so before it shows anything.
  private var isServed = false
  /// Why no more output comes.
  private(set) var ending: Attachment.End?

  /// More output stays in the socket until the terminal accepts some.
  private static let mostOutput = 1 << 18
  /// More keys stay in the terminal until the keeper accepts some.
  private static let mostKeys = 1 << 20

  init(leavingBy key: ControlKey) {
    detachKey = key
  }

  var readsOutput: Bool { ending == nil && output.count < Self.mostOutput }

  var readsKeys: Bool { outgoing.count < Self.mostKeys }

  /// Whether all output of a job that is over has been shown.
  var isEnded: Bool { ending != nil && output.isEmpty }

  /// Asks the keeper to paint this terminal, whose keys reach the job from now on.
  mutating func begin(_ window: TerminalWindow) {
    self.window = window
    outgoing += AttachMessage.hello(window).encoded
  }

  mutating func resize(_ window: TerminalWindow) {
    guard window != self.window else { return }
    self.window = window
    outgoing += AttachMessage.size(window).encoded
  }

  /// Takes keys that were typed; returns whether the detach key is among them.
  mutating func type(_ keys: Bytes) -> Bool {
    let end = detachKey.range(in: keys)
    // The keeper ignores keys of a terminal that only shows.
    if isTyping, ending == nil {
      var rest = keys[..<(end?.lowerBound ?? keys.count)]
      while !rest.isEmpty {
        outgoing += AttachMessage.keys(Bytes(rest.prefix(AttachMessage.longest))).encoded
        rest = rest.dropFirst(AttachMessage.longest)
      }
    }
    return end != nil
  }

  /// Takes bytes from the keeper; nil is the end of the connection.
  mutating func receive(_ bytes: Bytes?) throws(Failure) {
    guard let bytes else {
      ending = ending ?? (isServed ? .lost : .missed)
      return
    }
    reader.add(bytes)
    while ending == nil, let message = try reader.next() {
      switch message {
      case .output(let bytes): output += bytes
      case .typing(let isTyping):
        isServed = true
        change(isTyping)
      case .over: finish()
      case .hello, .keys, .size: break
      }
    }
  }

  /// Notes that the job is over; returns why no more output comes.
  @discardableResult
  mutating func finish() -> Attachment.End {
    let end = ending ?? (isServed ? .over : .missed)
    ending = end
    return end
  }

  private mutating func change(_ isTyping: Bool) {
    guard isTyping != self.isTyping else { return }
    self.isTyping = isTyping
    say(
      isTyping
        ? "serialq: this terminal types again"
        : "serialq: another terminal types now, this one only shows; \(detachKey.name) leaves")
  }

  /// Shows a line between the output of the job.
  mutating func say(_ text: String) {
    var screen = screen
    screen.note(output)
    // Ends an incomplete sequence, and the style of the job.
    let plain = screen.isChanged ? "\u{18}\u{1B}[m" : ""
    if screen.modes.isAlternate {
      // In the last row, which the job may draw again. The cursor and its style are restored.
      let line = text.cut(to: max(1, window.columns - 1))
      output += "\u{18}\u{1B}7\u{1B}[\(window.rows);1H\u{1B}[m\(line)\u{1B}[K\u{1B}8".utf8
    } else {
      output += "\(plain)\(screen.lineStart)\(text)\r\n".utf8
    }
    // Begins the sequence again, whose rest follows.
    output += screen.parser.incomplete
  }

  /// Notes that the first bytes of ``outgoing`` were sent.
  mutating func note(sent count: Int) { outgoing.removeFirst(count) }

  /// Notes that the first bytes of ``output`` were written.
  mutating func note(written count: Int) {
    screen.note(Bytes(output.prefix(count)))
    output.removeFirst(count)
  }

  /// Returns what restores the terminal, with the cursor at the start of a line, and drops what was
  /// not written.
  mutating func leave() -> Bytes {
    defer { (output, screen) = ([], Screen()) }
    return (screen.isChanged ? TerminalModes.reset : []) + Bytes(screen.lineStart.utf8)
  }
}

/// What the output so far has done to a terminal.
private struct Screen {
  private(set) var modes = TerminalModes()
  /// Whether more than text was written.
  private(set) var isChanged = false
  /// Whether text followed the last line end; it may be erased since.
  private var isInLine = false
  private(set) var parser = SequenceParser()

  /// What moves the cursor to the start of a line.
  var lineStart: String { isInLine ? "\r\n" : "\r" }

  mutating func note(_ bytes: Bytes) {
    isChanged = isChanged || TerminalModes.canChange(by: bytes)
    var rest = bytes[...]
    while let element = parser.next(&rest) {
      modes.note(element)
      if case .text = element { isInLine = true }
      if element == .control(UInt8(ascii: "\n")) { isInLine = false }
    }
  }
}
