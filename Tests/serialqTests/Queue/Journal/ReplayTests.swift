@testable import SerialqCLI
import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

@Suite final class ReplayTests: QueueSuite {
  /// A journal, and the queue after each complete batch of it.
  private struct Written {
    var text: Bytes = []
    /// The end of each batch, and the queue up to that point.
    var states: [(end: Int, queue: Queue)] = [(0, Queue())]

    init(_ history: [[Event]]) {
      var queue = Queue()
      for batch in history {
        let isPaused = queue.isPaused
        for event in batch { queue.apply(event) }
        for line in lines(batch, next: queue.nextID, isPaused: isPaused) { text += line }
        states.append((text.count, queue))
      }
    }

    func state(at cut: Int) -> (end: Int, queue: Queue) {
      states.last { $0.end <= cut } ?? (0, Queue())
    }
  }

  // Fails when a line counts before its line end, or a batch before its last line: commit in every
  // `take`.
  @Test(
    "Every prefix of a journal replays to the queue of its complete batches",
    .shows(OnDisk.prefixes),
    arguments: 1...6)
  func prefixes(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let written = Written(randomHistory(&generator, batches: 16))
    // In a short run, each history is cut at other places.
    let step = isLong ? 1 : 4 * ease
    for cut in stride(from: Int(seed) % step, through: written.text.count, by: step) {
      tally(1)
      let replayed = try Replayed(Bytes(written.text[..<cut]))
      let expected = written.state(at: cut)
      let isSame = replayed.queue == expected.queue
      #expect(isSame, "cut at \(cut)")
      let isConsistent = replayed.queue.isConsistent
      #expect(isConsistent, "cut at \(cut)")
      #expect(replayed.committed == expected.end, "cut at \(cut)")
      #expect(replayed.damaged.isEmpty)
    }
  }

  // Fails when an append does not truncate a torn end: the new line would be part of the torn one.
  @Test(
    "An append after any cut continues from the last complete batch", .shows(OnDisk.tornLines),
    arguments: 1...3)
  func appendsAfterCut(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let written = Written(randomHistory(&generator, batches: 10))
    for cut in stride(from: Int(seed), through: written.text.count, by: 17 * ease) {
      tally(1)
      try write(Bytes(written.text[..<cut]), to: folder.journal)
      var queue = written.state(at: cut).queue
      try Journal(folder).locked { (scope) throws(Failure) in
        let id = try scope.nextID()
        #expect(id == queue.nextID)
        try scope.append([added(id), added(id + 1)])
        try scope.append([added(try scope.nextID())])
      }
      for _ in 0..<3 { queue.apply(added(queue.nextID)) }
      #expect(try Replayed(content(folder.journal)).queue == queue, "cut at \(cut)")
    }
  }

  // Fails when damage to a line end loses the next line too: do not look for a second opening.
  @Test(
    "A damaged byte affects only its own line", .shows(OnDisk.damage),
    arguments: [UInt8(0), 0x0A, 0x22, 0xFF])
  func damage(byte: UInt8) throws {
    let batches: [[Event]] = [
      [added(1)], [added(2), added(3), added(4)],
      [.cancelled(id: 1, at: Timestamp(microseconds: 0))],
      [added(5)], [added(6), added(7)], [added(8)],
    ]
    var next = 1
    var all: [Bytes] = []
    for batch in batches {
      for case .added(let job) in batch { next = job.id + 1 }
      all += lines(batch, next: next)
    }
    let text = Bytes(all.joined())
    let last = text.count - (all.last?.count ?? 0)
    var line = 0
    var lineStart = 0
    for index in 0..<last {
      if index == lineStart + all[line].count {
        lineStart = index
        line += 1
      }
      guard text[index] != byte, isLong || index % (3 * ease) == 0 else { continue }
      tally(1)
      var damaged = text
      damaged[index] = byte
      let replayed = try Replayed(damaged)
      var expected = Queue()
      for (number, event) in batches.joined().enumerated() where number != line {
        expected.apply(event)
      }
      #expect(replayed.queue == expected, "byte \(index) of line \(line + 1)")
      #expect(replayed.damaged.first?.number == line + 1)
      #expect(replayed.committed == text.count)
    }
  }

  // Fails when data is read again: here its first half is damaged after the first read.
  @Test("Data is read only once", .shows(OnDisk.onlyWhatIsNew))
  func readsOnce() throws {
    try Journal(folder).append((1...50).map { added($0) })
    var reader = JournalReader(folder)
    #expect(try reader.read().applied == 50)
    var text = try content(folder.journal)
    for index in 0..<text.count / 2 { text[index] = 0 }
    let file = try FileDescriptor.open(folder.journal, .readWrite)
    try file.writeAll(text)
    try file.writeAll(Bytes(lines([added(51)], next: 52).joined()))
    #expect(try reader.read() == JournalReader.News(applied: 1))
    #expect(reader.queue.jobs.count == 51)
  }

  // Fails when the id of a lost line is assigned again: do not skip one.
  @Test("The id in a damaged last line is not reused")
  func lostID() throws {
    var text = Bytes(lines([added(1)], next: 2).joined())
    let end = text.count
    text += Bytes(lines([added(2)], next: 3).joined())
    text[end + 20] ^= 1
    try write(text, to: folder.journal)
    try Journal(folder).locked { (scope) throws(Failure) in
      #expect(try scope.nextID() == 3)
      try scope.append([added(3)])
    }
    // The damaged line is still there: only compaction moves it.
    #expect(try content(folder.journal).starts(with: text))
    #expect(try Replayed(content(folder.journal)).queue.jobs.map(\.id) == [1, 3])
  }

  // Fails when a line with a correct checksum counts as damaged, or an unknown member is ignored.
  @Test(
    "A line of a newer version is refused, and nothing changes",
    .shows(OnDisk.newerVersions),
    arguments: [
      #"{"v":2,"e":"added","id":1,"next":2"#,
      #"{"v":1,"e":"teleported","id":1,"next":2"#,
      #"{"v":1,"e":"spawned","id":1,"pid":3,"where":"mars","next":2"#,
      #"{"v":1,"e":"spawned","id":1,"pid":{},"next":2"#,
    ])
  func newer(line: String) throws {
    let unsummed = Bytes(line.utf8)
    let sum = Hex.digits(CRC32.sum(unsummed)).text
    let text = unsummed + Bytes(",\"sum\":\"\(sum)\"}\n".utf8)
    try write(text, to: folder.journal)
    var reader = JournalReader(folder)
    #expect(throws: Failure.self) { try reader.read() }
    #expect(throws: Failure.self) { try Journal(folder).append([added(1)]) }
    #expect(throws: Failure.self) {
      try Journal(folder).locked { (scope) throws(Failure) in _ = try scope.compact() }
    }
    #expect(try content(folder.journal) == text)
  }

  // Fails when a line is written that cannot be read: the whole journal would be refused.
  @Test("The last id can be used, and after it no job is added")
  func lastID() throws {
    try Journal(folder).append([added(JobID.valid.upperBound)])
    #expect(throws: Failure.self) {
      try Journal(folder).locked { (scope) throws(Failure) in
        try scope.append([added(try scope.nextID())])
      }
    }
    try Journal(folder).append([.paused(at: Timestamp(microseconds: 0), because: nil)])
    let queue = try Replayed(content(folder.journal)).queue
    #expect(queue.jobs.map(\.id) == [JobID.valid.upperBound] && queue.isPaused)
  }

  // Fails when a possible number is written but not read: the whole journal would be refused from
  // then on. Lower a limit in `Event(from:sharing:)` or its parts.
  @Test("The extreme values of an event read back unchanged")
  func extremes() {
    // Every byte, no byte at all, a fake end of a line, and half of an escape.
    let texts: [Bytes] = [
      Array(0...255), [], Bytes("\",\"sum\":\"00000000\"}"), [0xEF, 0x9E, 0x80],
    ]
    for moment in [Int64.zero, 253_402_300_799_999_999, -62_167_219_200_000_000] {
      let at = Timestamp(microseconds: moment)
      for event in extremes(at) + texts.flatMap({ extremes(at, $0) }) {
        #expect(isReadBack(event, next: JournalLine.lastNext), "\(event)")
      }
    }
  }

  /// The extremes of numbers.
  private func extremes(_ at: Timestamp) -> [Event] {
    let id = JobID.valid.upperBound
    let most = ParsedArguments.mostCounted
    let endings = [Ending.exited(0), .exited(255), .killed(1), .killed(127)]
    let ended: [Event] = endings.flatMap { how in
      [EndCause.itself, .cancelled, .timedOut].map {
        .ended(id: id, at: at, duration: .max, how: how, cause: $0)
      } + [.hookFailed(id: id, at: at, how: how), .hookFailed(id: nil, at: at, how: how)]
    }
    let places = [Place.first, .last, .before(id), .after(1)]
    let retry = Retry(
      id: id, at: at, attempts: 2 * (most + 1), used: most, place: .before(id), due: at,
      isFree: true, hasTerminal: true)
    return (1...64).map { .cancelling(id: id, at: at, signal: $0) } + ended
      + places.map { .moved(id: id, at: at, place: $0) } + [
        .suspended(id: id, at: at, uptime: .max), .continued(id: id, at: at, uptime: 0),
        .interrupted(id: id, at: at), .interrupted(id: id, at: at, stopped: true),
        .cancelled(id: id, at: at), .acknowledged(id: id, at: at),
        .skipped(id: 1, at: at, because: id), .paused(at: at, because: id),
        .paused(at: at, because: nil), .resumed(at: at), .compacted(at: at), .retried(retry),
        .forgotten(ids: [1...1, 3...id], at: at), .previous(id: id, succeeded: true),
        .spawned(id: id, pid: .max), .set(.keep(Int(UInt32.max)), at: at), .set(.keep(nil), at: at),
        .set(.logLimit(1 << 50), at: at), .set(.logLimit(nil), at: at), .set(.shell(nil), at: at),
        .set(.onAsk(nil), at: at), .set(.terminal(true), at: at), .set(.terminal(false), at: at),
        .asked(id: id, at: at, question: nil), .set(.onIdle(nil), at: at),
        .set(.launcher(nil), at: at), .launched(id: id, Launch(command: [])),
        .counted(Results(), at: at), .counted(fullResults(id), at: at),
      ]
  }

  private func fullResults(_ count: Int) -> Results {
    var results = Results()
    (results.succeeded, results.failed, results.skipped) = (count, count, count)
    results.cancelled = count
    // No more than a line can hold.
    for state in JobState.allCases { results.count(state, 1) }
    results.hasRun = true
    return results
  }

  /// The extremes of texts, and of the numbers in the same events.
  private func extremes(_ at: Timestamp, _ text: Bytes) -> [Event] {
    let id = JobID.valid.upperBound
    let most = ParsedArguments.mostCounted
    let century = 100 * 365 * 86_400
    let context = ExecutionContext(directory: text, environment: text, umask: 0o777)
    let job = NewJob(
      id: id,
      Payload(
        .arguments([text, text]), in: context, label: text,
        terminal: JobTerminal(rows: Int(UInt16.max), columns: Int(UInt16.max))),
      limits: Limits(
        timeout: century, retries: most, retryDelay: century, ifOK: true, after: [1...1, 3...id]),
      at: at)
    var options = EditedOptions(
      context: context, label: text, terminal: .unknownSize, limits: job.limits)
    options.isFree = true
    let hook = Hook(line: text, in: context)
    let inputs = [Input.file(text), .copy(id)].map { input in
      Event.added(
        NewJob(id: id, Payload(.shell(text), in: context, input: input, key: text), at: at))
    }
    return inputs + [
      .set(.onIdle(text.isEmpty ? nil : hook), at: at),
      .set(.onAsk(text.isEmpty ? nil : hook), at: at), .unlogged(id: id, reason: text),
      .asked(id: id, at: at, question: Question(.password, text)),
      .asked(id: id, at: at, question: Question(.input, text)),
      .set(.shell(text.isEmpty ? nil : text), at: at),
      .set(.launcher(text.isEmpty ? nil : text), at: at),
      .launched(id: id, Launch(command: text, job: text, node: text, lost: text)),
      .added(job), .edited(id: id, at: at, command: .shell(text)),
      .edited(id: id, at: at, command: .shell(text), options: options),
      .edited(
        id: id, at: at, command: .arguments([text]),
        options: EditedOptions(context: context, label: nil, limits: .none)),
      .set(.onFinish(text.isEmpty ? nil : hook), at: at),
      .started(id: id, attempt: 2 * (most + 1), at: at, boot: text, uptime: .max),
      .started(id: id, attempt: 1, at: at, boot: text, uptime: nil, hasTerminal: true),
      .hookFailed(id: id, at: at, how: .cannotRun(127, reason: text)),
    ]
  }

  // Fails when encoding and decoding differ in a member's name or in a limit.
  @Test("Every event reads back unchanged", .shows(OnDisk.replay), arguments: 1...20)
  func roundTrip(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let history = randomHistory(&generator, batches: 40)
    for event in history.joined() + [.compacted(at: Timestamp(microseconds: -1))] {
      #expect(isReadBack(event), "\(event)")
    }
  }
}
