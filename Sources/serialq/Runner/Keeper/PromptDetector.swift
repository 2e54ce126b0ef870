import SerialqQueue
import SerialqSystem

/// Decides whether a job seems to wait for an answer on its terminal.
///
/// Pure: the keeper reports what happens, inspects the terminal when a look is due, and records
/// what changes. Sees only the moments after output, so that it needs no timer while nothing
/// happens.
struct PromptDetector {
  /// What the terminal looks like.
  struct Look: Equatable {
    /// Whether the terminal hides what is typed, a line at a time.
    var hidesInput = false
    /// Whether the job draws on the alternate screen.
    var isFullScreen = false
  }

  /// The end of the output, from which the last line is taken.
  private var tail = Bytes()
  /// When the output or the input last changed, by the monotonic clock.
  private var last: Int64
  /// How many looks were taken since.
  private var looks = 0
  /// The question that is recorded.
  private(set) var question: Question?
  /// The last question, while nothing was printed or typed since.
  private var lastQuestion: Question?
  /// Whether a question was recorded, and nothing was printed or typed since.
  var isUnanswered: Bool { lastQuestion != nil }
  /// Whether the recorded question was recorded before, until a terminal was attached.
  private(set) var isRepeated = false

  /// A password prompt is recognized by the mode of the terminal, and so earlier.
  static let delays: [Int64] = [300_000_000, 2_000_000_000]
  private static let mostTail = 4096

  init(now: Int64) {
    last = now
  }

  /// When the next look is due; nil until something happens.
  var due: Int64? { looks < Self.delays.count ? last + Self.delays[looks] : nil }

  /// Notes output of the job; returns whether a recorded question is over.
  mutating func printed(_ bytes: Bytes, at now: Int64) -> Bool {
    lastQuestion = nil
    tail += bytes
    if tail.count > 2 * Self.mostTail { tail.removeFirst(tail.count - Self.mostTail) }
    return restart(at: now)
  }

  /// Notes keys that were typed; returns whether a recorded question is over.
  mutating func typed(at now: Int64) -> Bool {
    lastQuestion = nil
    return restart(at: now)
  }

  /// Notes that a terminal was attached or detached; returns whether a recorded question is over.
  mutating func restart(at now: Int64) -> Bool {
    last = now
    looks = 0
    defer { question = nil }
    return question != nil
  }

  /// Decides after a look that was due; returns the question if it is a new one.
  mutating func looked(_ look: Look) -> Question? {
    looks += 1
    let isLast = looks == Self.delays.count
    let line = Self.text(of: lastRawLine)
    if look.hidesInput { return ask(Question(.password, line)) }
    // A prompt has no line end; nor has a progress bar, which is printed over the one before.
    let isOverwritten = lastRawLine.contains(UInt8(ascii: "\r"))
    if isLast, !line.isEmpty, !look.isFullScreen, !isDrawn, !isOverwritten {
      return ask(Question(.input, line))
    }
    return nil
  }

  private mutating func ask(_ new: Question) -> Question? {
    guard question != new else { return nil }
    isRepeated = lastQuestion == new
    question = new
    lastQuestion = new
    return new
  }

  /// Whether the cursor was positioned on the screen after the last line, as by `top`: such a
  /// program waits for keys all the time.
  private var isDrawn: Bool {
    var parser = SequenceParser()
    var rest = lastRawLine[...]
    var isText = false
    while let element = parser.next(&rest) {
      switch element {
      case .text: isText = true
      case .sequence(_, UInt8(ascii: "H")), .sequence(_, UInt8(ascii: "f")):
        if isText { return true }
      case .control, .escape, .sequence: break
      }
    }
    return false
  }

  private var lastRawLine: Bytes {
    let start = tail.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return Bytes(tail[start...])
  }

  /// The incomplete last line as text.
  private static func text(of line: Bytes) -> Bytes {
    var line = Bytes(TerminalText.plain(line).split(separator: UInt8(ascii: "\n")).last ?? [])
    while line.last == UInt8(ascii: " ") { line.removeLast() }
    return Bytes(line.prefix(Question.maxText))
  }
}
