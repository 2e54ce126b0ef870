import TestSupport
import Testing

@testable import serialq

@Suite struct ReplayTests {
  /// A journal, and the queue after each whole batch of it.
  private struct Written {
    var text: Bytes = []
    /// Where each batch ends, and the queue up to there.
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
    "Every prefix of a journal is the queue of its whole batches", .shows(OnDisk.prefixes),
    arguments: 1...6)
  func prefixes(seed: UInt64) throws {
    var generator = SeededGenerator(state: seed)
    let written = Written(randomHistory(&generator, batches: 16))
    for cut in stride(from: 0, through: written.text.count, by: ease) {
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

  // Fails when the appender does not cut a torn end off: the new line would be part of the torn
  // one.
  @Test(
    "An append after any cut goes on from the last whole batch", .shows(OnDisk.tornLines),
    arguments: 1...3)
  func appendsAfterCut(seed: UInt64) throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.queue()
    var generator = SeededGenerator(state: seed)
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

  // Fails when damage to a line end costs the line after it: do not look for a second opening.
  @Test(
    "A damaged byte costs only its own line", .shows(OnDisk.damage),
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
      guard text[index] != byte, index % ease == 0 else { continue }
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

  // Fails when what was read is read again: here it is damaged meanwhile, all but its end.
  @Test("What was read is not read again", .shows(OnDisk.onlyWhatIsNew))
  func readsOnce() throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.queue()
    try Journal(folder).append((1...50).map { added($0) })
    var reader = JournalReader(folder)
    var queue = Queue()
    #expect(try reader.read(into: &queue).applied == 50)
    var text = try content(folder.journal)
    for index in 0..<text.count / 2 { text[index] = 0 }
    let file = try FileDescriptor.open(folder.journal, .readWrite)
    try file.writeAll(text)
    try file.writeAll(Bytes(lines([added(51)], next: 52).joined()))
    #expect(try reader.read(into: &queue) == JournalReader.News(applied: 1))
    #expect(queue.jobs.count == 51)
  }

  // Fails when the id of a lost line is given out again: do not skip one.
  @Test("The id that a damaged last line gave away is not used again")
  func lostID() throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.queue()
    var text = Bytes(lines([added(1)], next: 2).joined())
    let end = text.count
    text += Bytes(lines([added(2)], next: 3).joined())
    text[end + 20] ^= 1
    try write(text, to: folder.journal)
    try Journal(folder).locked { (scope) throws(Failure) in
      #expect(try scope.nextID() == 3)
      try scope.append([added(3)])
    }
    // The damaged line is still there: only compaction puts it aside.
    #expect(try content(folder.journal).starts(with: text))
    #expect(try Replayed(content(folder.journal)).queue.jobs.map(\.id) == [1, 3])
  }

  // Fails when a line with a right sum is taken for damaged, or a member that is not known is
  // passed over.
  @Test(
    "A line that a newer version wrote is refused, and nothing changes",
    .shows(OnDisk.newerVersions),
    arguments: [
      #"{"v":2,"e":"added","id":1,"next":2"#,
      #"{"v":1,"e":"teleported","id":1,"next":2"#,
      #"{"v":1,"e":"spawned","id":1,"pid":3,"where":"mars","next":2"#,
      #"{"v":1,"e":"spawned","id":1,"pid":{},"next":2"#,
    ])
  func newer(line: String) throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.queue()
    let unsummed = Bytes(line.utf8)
    let sum = Hex.digits(CRC32.sum(unsummed)).text
    let text = unsummed + Bytes(",\"sum\":\"\(sum)\"}\n".utf8)
    try write(text, to: folder.journal)
    var queue = Queue()
    var reader = JournalReader(folder)
    #expect(throws: Failure.self) { try reader.read(into: &queue) }
    #expect(throws: Failure.self) { try Journal(folder).append([added(1)]) }
    #expect(throws: Failure.self) {
      try Journal(folder).locked { (scope) throws(Failure) in _ = try scope.compact() }
    }
    #expect(try content(folder.journal) == text)
  }

  // Fails when a line is written that cannot be read: a whole journal would be refused because of it.
  @Test("The last id there is can be used, and after it no job is added")
  func lastID() throws {
    let temporary = try TemporaryFolder()
    let folder = try temporary.queue()
    try Journal(folder).append([added(FlatObject.ids.upperBound)])
    #expect(throws: Failure.self) {
      try Journal(folder).locked { (scope) throws(Failure) in
        try scope.append([added(try scope.nextID())])
      }
    }
    try Journal(folder).append([.paused(at: Timestamp(microseconds: 0), because: nil)])
    let queue = try Replayed(content(folder.journal)).queue
    #expect(queue.jobs.map(\.id) == [FlatObject.ids.upperBound] && queue.isPaused)
  }

  // Fails when encoding and decoding differ in a member's name or in a limit.
  @Test("Every event reads back as it was", .shows(OnDisk.replay), arguments: 1...20)
  func roundTrip(seed: UInt64) throws {
    var generator = SeededGenerator(state: seed)
    let history = randomHistory(&generator, batches: 40)
    var reader = JournalLine.Reader()
    for batch in history + [[.compacted(at: Timestamp(microseconds: -1))]] {
      for (line, event) in zip(lines(batch, next: 99), batch) {
        let reading = line.dropLast().withUnsafeBufferPointer { reader.read($0) }
        guard case .record(let record) = reading else {
          Issue.record("not read: \(line.text)")
          continue
        }
        #expect(record.event == event)
      }
    }
  }
}
