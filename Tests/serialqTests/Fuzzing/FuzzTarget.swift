@testable import SerialqCLI
@testable import SerialqQueue
@testable import SerialqRunner
@testable import SerialqSystem
import SerialqWatch

/// The code under fuzzing, by the tests and by `Scripts/fuzz`.
///
/// Each target accepts any bytes, and describes the fault if there is one.
enum FuzzTarget: String, CaseIterable {
  /// A journal as stored on disk.
  case journal
  /// Lines of a journal, each with a correct checksum added, so that their content is parsed.
  case lines
  /// The arguments of a call, separated by NUL.
  case words
  /// The text that `add -f` reads.
  case jobs
  /// A duration, a time, ids, a number.
  case values
  /// The output of a job on a terminal.
  case terminal

  func fault(with input: Bytes) -> String? {
    switch self {
    case .journal: Self.faultOfJournal(input)
    case .lines: Self.faultOfLines(input)
    case .words: Self.faultOfWords(input)
    case .jobs: Self.faultOfJobs(input)
    case .values: Self.faultOfValues(input)
    case .terminal: Self.faultOfTerminal(input)
    }
  }

  private static func faultOfJournal(_ text: Bytes) -> String? {
    // A line of a newer version is refused; there is nothing else to check.
    guard let replayed = try? Replayed(text) else { return nil }
    guard replayed.queue.isConsistent else { return "the queue is not consistent" }
    guard replayed.committed.offset <= text.count else { return "more counts than there is" }
    // No id or place is left for a new job, and an append reports that.
    guard replayed.queue.nextID <= JournalLine.lastNext,
      replayed.committed.next <= JournalLine.lastByte
    else { return nil }
    // An append continues after the last valid line, and a line without effect changes nothing.
    var next = LineCoder(at: replayed.committed.next)
    let line = Record(
      entry: .queue(replayed.queue.properties), next: replayed.queue.nextID, more: 0,
      isPaused: replayed.queue.isPaused)
    JournalLine.write(line, to: &next)
    guard let again = try? Replayed(text.prefix(Int(replayed.committed.offset)) + next.json.bytes),
      again.queue == replayed.queue, again.damaged == replayed.damaged
    else { return "what counts does not count after the next append" }
    return faultOfDisplay(replayed.queue) ?? faultOfCompaction(replayed.queue)
  }

  /// What commands derive from a queue must not overflow.
  private static func faultOfDisplay(_ queue: Queue) -> String? {
    let now = Clock.reading()
    let folder = QueueFolder(name: "q", path: Bytes("/nowhere/q"))
    for job in queue.jobs {
      var json = JSONWriter()
      job.write(to: &json, in: folder, of: queue)
      guard job.delay(now) >= 0, job.running(now) ?? 0 >= 0 else { return "a negative time" }
      _ = job.title + job.outcomeText
    }
    _ = QueueProgress(queue).left(queue)
    _ = TimeScale(queue.jobs.compactMap { $0.attempt(at: now) })
    return nil
  }

  /// Compaction must preserve the queue, however unusual it is.
  private static func faultOfCompaction(_ queue: Queue) -> String? {
    var text = LineCoder()
    _ = try? queue.forEachEntry { (entry) throws(Failure) in
      let record = Record(entry: entry, next: queue.nextID, more: 0, isPaused: queue.isPaused)
      JournalLine.write(record, to: &text)
    }
    guard let compacted = try? Replayed(text.json.bytes) else { return "compaction cannot be read" }
    guard compacted.damaged.isEmpty else { return "compaction writes damaged lines" }
    guard compacted.queue == queue else {
      return "compaction gives another queue: \(difference(compacted.queue, queue))"
    }
    return faultOfNextStep(queue)
  }

  /// The first job that differs, or all fields other than jobs.
  private static func difference(_ one: Queue, _ other: Queue) -> String {
    for (job, second) in zip(one.inOrder, other.inOrder) where job != second {
      return "\(job) \(job.status) is \(second) \(second.status)"
    }
    return [one, other].map {
      "\($0.nextID) \($0.running) \($0.properties) \($0.jobs.count)"
    }.joined(separator: " is ")
  }

  private static func faultOfNextStep(_ queue: Queue) -> String? {
    var ordered = QueueChanges(queue)
    ordered.putInOrder()
    guard ordered.queue.isConsistent, ordered.queue.misplaced == nil else {
      return "a job stays before one that it requires"
    }
    guard case .run(let job) = queue.next(now: moment()) else { return nil }
    var after = queue
    after.perform(.start(job.id))
    guard after.isConsistent, after.running.last == job.id else { return "the next job cannot run" }
    after.perform(.end(job.id, .exited(1)))
    after.perform(.cancel(after.waiting.map(\.id)))
    return after.isConsistent ? nil : "the queue is not consistent after its next job"
  }

  private static func faultOfLines(_ text: Bytes) -> String? {
    var journal: Bytes = []
    var reader = JournalLine.Reader()
    for line in text.split(separator: UInt8(ascii: "\n")) {
      let summed = JournalLine.summed(Bytes(line), at: journal.count)
      // Skips lines of a newer version: one of them would make the whole journal refused.
      guard case .record(let record) = summed.withUnsafeBufferPointer({ reader.read($0) }) else {
        continue
      }
      var coder = LineCoder(at: record.byte)
      JournalLine.write(record, to: &coder)
      guard
        case .record(let again) = coder.json.bytes.dropLast().withUnsafeBufferPointer({
          reader.read($0)
        }),
        again == record
      else { return "a line reads differently when it is written again" }
      journal += summed + [UInt8(ascii: "\n")]
    }
    return faultOfJournal(journal)
  }

  private static func faultOfWords(_ text: Bytes) -> String? {
    let words = text.split(separator: 0, omittingEmptySubsequences: false).map(Bytes.init)
    do throws(Failure) {
      _ = try Invocation.parse(words)
      return nil
    } catch {
      guard error.code == .cannot else { return "code \(error.code)" }
      guard !error.why.isEmpty, !error.next.isEmpty else { return "an empty message" }
      // Control characters of the terminal must not be printed.
      let isVisible = error.description.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x0A }
      return isVisible ? nil : "a control character in a message"
    }
  }

  private static func faultOfJobs(_ text: Bytes) -> String? {
    guard let commands = try? JobFile.commands(in: text, from: Bytes("f")) else { return nil }
    for command in commands {
      guard case .shell(let line) = command, !line.isEmpty, !line.contains(0),
        !line.contains(UInt8(ascii: "\n")), !line.allSatisfy(\.isBlank)
      else { return "not a command: \(command)" }
    }
    let again = commands.flatMap { command -> Bytes in
      guard case .shell(let line) = command else { return [] }
      // A carriage return at the end of a line is part of the line end.
      return line + Bytes("\r\n")
    }
    guard let reread = try? JobFile.commands(in: again, from: Bytes("f")), reread == commands else {
      return "the commands read differently when they are written again"
    }
    return nil
  }

  private static func faultOfValues(_ text: Bytes) -> String? {
    if let seconds = Humanize.parseDuration(text) {
      guard 0...1 << 50 ~= seconds else { return "the duration" }
      let duration = Duration.seconds(seconds)
      _ = Humanize.duration(duration) + Humanize.about(duration)
    }
    if let time = text.withUnsafeBufferPointer({ Timestamp(rfc3339: $0) }), time.rfc3339 != text {
      return "the time reads differently when it is written again"
    }
    if let ids = ClosedRange<JobID>(text), ids.count < 1 { return "no ids" }
    if let number = Int(decimal: text), number < 1 { return "the number" }
    _ = Visible.text(text) + ShellQuote.command(.arguments([text]))
    // A name is a single path component, and not an option.
    let isPath = text.isEmpty || text.contains(UInt8(ascii: "/")) || text.contains(0)
    let isHidden = text.first == UInt8(ascii: ".") || text.first == UInt8(ascii: "-")
    return QueueName.fault(in: text) == nil && (isPath || isHidden) ? "the name" : nil
  }

  private static func faultOfTerminal(_ output: Bytes) -> String? {
    let plain = text(output, keepsStyle: false)
    let styled = text(output, keepsStyle: true)
    for size in [1, 7] where text(output, keepsStyle: true, inPiecesOf: size) != styled {
      return "in pieces the text is another"
    }
    let isControl = plain.contains { $0 < 0x20 && $0 != 0x0A && $0 != 0x09 || $0 == 0x7F }
    let isLongControl = zip(plain, plain.dropFirst()).contains {
      $0 == 0xC2 && 0x80...0x9F ~= $1
    }
    guard !isControl, !isLongControl else { return "a control character in the text" }
    guard text(plain, keepsStyle: false) == plain else { return "the text has another text" }
    let newline = UInt8(ascii: "\n")
    let lines = styled.split(separator: newline, omittingEmptySubsequences: false)
    for line in lines {
      guard let styles = styles(of: line) else {
        return "another sequence than a style in the text"
      }
      guard styles.last ?? [] == [] else { return "a line leaves its style on" }
    }
    // Spaces at the end of a line are visible if they have a style.
    guard
      lines.map({ trimmed(Visible.withoutColors($0)[...]) })
        == plain.split(separator: newline, omittingEmptySubsequences: false).map(trimmed)
    else { return "with styles the text is another" }
    return faultOfTail(output)
  }

  private static func trimmed(_ line: ArraySlice<UInt8>) -> Bytes {
    Bytes(line.reversed().drop { $0 == UInt8(ascii: " ") }.reversed())
  }

  /// The parameters of the styles in a line; nil if it has other sequences.
  private static func styles(of line: ArraySlice<UInt8>) -> [Bytes]? {
    var styles: [Bytes] = []
    for element in elements(of: Bytes(line)) {
      switch element {
      case .text, .control: break
      case .sequence(let parameters, UInt8(ascii: "m"))
      where parameters.allSatisfy({ 0x30...0x3B ~= $0 }):
        styles.append(parameters)
      case .escape, .sequence: return nil
      }
    }
    return styles
  }

  private static func elements(of output: Bytes) -> [SequenceParser.Element] {
    var (parser, rest) = (SequenceParser(), output[...])
    var elements: [SequenceParser.Element] = []
    while let element = parser.next(&rest) { elements.append(element) }
    return elements
  }

  private static func text(
    _ output: Bytes, keepsStyle: Bool, inPiecesOf size: Int = .max
  ) -> Bytes {
    var text = TerminalText(keepsStyle: keepsStyle)
    var shown = Bytes()
    var rest = output[...]
    while !rest.isEmpty {
      shown += text.convert(Bytes(rest.prefix(size)))
      rest = rest.dropFirst(size)
    }
    return shown + text.finish()
  }

  private static func faultOfTail(_ output: Bytes) -> String? {
    var (whole, pieces, again) = (OutputTail(), OutputTail(), OutputTail())
    let window = TerminalWindow(columns: 80, rows: 1_000_000)
    whole.note(output)
    for byte in output { pieces.note([byte]) }
    let painted = whole.repaint(window)
    again.note(painted)
    guard pieces.repaint(window) == painted || output.count > OutputTail.most else {
      return "in pieces the terminal is another"
    }
    guard painted.count <= 3 * OutputTail.most || output.count > OutputTail.most else {
      return "more is painted than is kept"
    }
    guard !elements(of: painted).contains(where: \.isQuery) else { return "a query is painted" }
    guard again.isFullScreen == whole.isFullScreen else {
      return "the terminal differs after it is painted"
    }
    var reset = OutputTail()
    reset.note(painted + TerminalModes.reset)
    return reset.isFullScreen ? "the reset leaves the alternate screen on" : nil
  }
}

extension JournalLine {
  /// A line that begins there, with the right checksum, of what precedes both.
  static func summed(_ members: Bytes, at byte: Int) -> Bytes {
    let members = members + Bytes(",\"byte\":\(byte)".utf8)
    return members + Bytes(",\"sum\":\"") + Hex.digits(CRC32.sum(members)) + Bytes("\"}")
  }
}
