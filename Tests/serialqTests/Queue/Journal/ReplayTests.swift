@testable import SerialqCLI
@testable import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

@Suite final class ReplayTests: QueueSuite {
  /// A journal, and the queue after each complete batch of it.
  private struct Written {
    var text: Bytes = []
    var lines: [Bytes] = []
    /// The next id after each line.
    var next: [Bytes: JobID] = [:]
    /// The end of each batch, and the queue up to that point.
    var states: [(end: Int, queue: Queue)] = [(0, Queue())]

    init(_ history: [[Entry]]) {
      var queue = Queue()
      for batch in history {
        let isPaused = queue.isPaused
        for entry in batch { queue.apply(entry) }
        let new = serialqTests.lines(
          batch, next: queue.nextID, isPaused: isPaused, at: text.count)
        text += Bytes(new.joined())
        lines += new
        for line in new { next[line] = queue.nextID }
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
    let step = isLong ? 1 : 8 * ease
    for cut in stride(from: Int(seed) % step, through: written.text.count, by: step) {
      tally(1)
      let replayed = try Replayed(Bytes(written.text[..<cut]))
      let expected = written.state(at: cut)
      let isSame = replayed.queue == expected.queue
      #expect(isSame, "cut at \(cut)")
      let isConsistent = replayed.queue.isConsistent
      #expect(isConsistent, "cut at \(cut)")
      #expect(replayed.committed.offset == expected.end, "cut at \(cut)")
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
    for cut in stride(from: Int(seed), through: written.text.count, by: isLong ? 17 : 34 * ease) {
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
    let cancelled = try #require(JobStatus().left(.cancelled, at: Timestamp(microseconds: 0)))
    let batches: [[Entry]] = [
      [added(1)], [added(2), added(3), added(4)], [.status(1, cancelled)],
      [added(5)], [added(6), added(7)], [added(8)],
    ]
    var next = 1
    var all: [Bytes] = []
    for batch in batches {
      for case .job(let id, _) in batch { next = id + 1 }
      all += lines(batch, next: next, at: all.joined().count)
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
      guard text[index] != byte, isLong || index % (6 * ease) == 0 else { continue }
      tally(1)
      var damaged = text
      damaged[index] = byte
      let replayed = try Replayed(damaged)
      var expected = Queue()
      for (number, entry) in batches.joined().enumerated() where number != line {
        expected.apply(entry)
      }
      #expect(replayed.queue == expected, "byte \(index) of line \(line + 1)")
      #expect(replayed.damaged.first?.number == line + 1)
      #expect(replayed.committed.offset == text.count)
      #expect(replayed.damaged.allSatisfy { $0.fault == .changed })
    }
  }

  // Fails when a line counts wherever it stands, an append does not say that it follows all others,
  // or an id is taken from a last line that is a copy: drop the comparison with `least`, or that
  // with `byte`.
  @Test(
    "Lines that were copied, moved, removed or merged drop and replace nothing silently",
    .shows(OnDisk.damage), arguments: 1...(isLong ? 40 : 6))
  func rearranged(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let written = Written(randomHistory(&random, batches: 12))
    let other = Written(randomHistory(&random, batches: 12))
    for round in 0..<(isLong ? 400 : 40 / ease) {
      tally(1)
      var lines = written.lines
      for _ in 0...round % 3 { rearrange(&lines, other.lines, &random) }
      let text = Bytes(lines.joined())
      let before = try Replayed(text)
      // All of it, or what a journal that was cut off is.
      let isKnown = written.states.contains { $0.queue == before.queue }
      #expect(isKnown || !before.damaged.isEmpty, "round \(round)")
      try write(text, to: folder.journal)
      var reader = JournalReader(folder)
      try reader.read()
      let id = try Journal(folder).locked { (scope) throws(Failure) in
        let id = try scope.nextID()
        try scope.append([added(id, "new")])
        return id
      }
      var end = 0
      for line in lines where lines.allSatisfy({ written.next[$0] != nil }) {
        end += line.count
        guard end <= before.committed.offset else { break }
        #expect(written.next[line] ?? 0 <= id, "round \(round)")
      }
      var expected = before.queue
      #expect(expected.job(id) == nil, "round \(round)")
      expected.apply(added(id, "new"))
      let after = try Replayed(content(folder.journal))
      let isSame = after.queue == expected
      #expect(isSame && after.damaged == before.damaged, "round \(round)")
      let isReadOn = try reader.read().damaged.isEmpty && reader.queue == expected
      #expect(isReadOn, "round \(round)")
    }
  }

  // Fails when a line that stands too early replaces those up to its own place: let it count at
  // once.
  @Test(
    "A line that was moved or copied to an earlier place costs no other", .shows(OnDisk.damage),
    arguments: 1...(isLong ? 40 : 6))
  func early(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let written = Written(randomHistory(&random, batches: 12))
    for round in 0..<(isLong ? 400 : 40 / ease) {
      tally(1)
      var lines = written.lines
      let from = Int.random(in: 1..<lines.count, using: &random)
      let line = lines[from]
      if round % 2 == 0 { lines.remove(at: from) }
      var expected = try Replayed(Bytes(lines.joined())).queue
      let place = Int.random(in: 0..<from, using: &random)
      lines.insert(line, at: place)
      let replayed = try Replayed(Bytes(lines.joined()))
      // Not if it stands in a batch that has lost its last line, and so is ignored.
      if let damaged = replayed.damaged.first { expected.skipIDs(of: damaged) }
      let isSame = replayed.queue == expected
      #expect(isSame, "round \(round)")
      let isReported = replayed.damaged.first?.number == place + 1
      #expect(isReported || round % 2 == 0 && from == lines.count - 1, "round \(round)")
    }
  }

  /// Does what an editor, a script or a tool that merges files does to lines.
  private func rearrange(_ lines: inout [Bytes], _ other: [Bytes], _ random: inout SeededGenerator)
  {
    func place() -> Int { .random(in: 0..<lines.count, using: &random) }
    let (one, two) = (place(), place())
    let block = lines[min(one, two)...max(one, two)]
    switch Int.random(in: 0..<7, using: &random) {
    case 0: lines.append(lines[one])
    case 1: lines.swapAt(one, two)
    case 2: lines[one] = lines[two]
    case 3: lines.insert(contentsOf: block, at: place())
    case 4: if block.count < lines.count { lines.removeSubrange(block.startIndex..<block.endIndex) }
    case 5: lines.insert(lines.remove(at: one), at: min(two, lines.count))
    default:
      let rest = other.suffix(.random(in: 1...other.count, using: &random))
      lines = lines.prefix(one + 1) + rest + (two % 2 == 0 ? lines.suffix(two) : [])
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
    try file.writeAll(Bytes(lines([added(51)], next: 52, at: text.count).joined()))
    #expect(try reader.read() == JournalReader.News(applied: 1))
    #expect(reader.queue.jobs.count == 51)
  }

  // Fails when the id of a lost line is assigned again: do not skip one.
  @Test("The id in a damaged last line is not reused")
  func lostID() throws {
    var text = Bytes(lines([added(1)], next: 2).joined())
    let end = text.count
    text += Bytes(lines([added(2)], next: 3, at: end).joined())
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

  // Fails when a whole line without its newline counts as one that was cut short: the job would be
  // gone without a word, and its id used again.
  @Test("Damage to the last newline costs the last line, and is reported", .shows(OnDisk.damage))
  func lastNewline() throws {
    let first = Bytes(lines([added(1)], next: 2).joined())
    let text = first + lines([added(2)], next: 3, at: first.count).joined()
    try write(text.dropLast() + [0x0B], to: folder.journal)
    var reader = JournalReader(folder)
    #expect(try reader.read().damaged.map(\.number) == [2])
    try Journal(folder).locked { (scope) throws(Failure) in
      #expect(try scope.nextID() == 3)
      try scope.append([added(3)])
    }
    #expect(try reader.read() == JournalReader.News(applied: 1))
    let replayed = try Replayed(content(folder.journal))
    #expect(replayed.queue.jobs.map(\.id) == [1, 3] && replayed.damaged.map(\.number) == [2])
    #expect(reader.queue == replayed.queue)
  }

  // Fails when a line with a correct checksum counts as damaged, an unknown member is ignored, or a
  // line of this version is said to be of a newer one.
  @Test(
    "A line that this version does not write is refused, and nothing changes",
    .shows(OnDisk.newerVersions),
    arguments: [
      #"{"v":2,"run":1,"is":"waiting","next":2"#,
      #"{"v":10,"by":{"name":"x"}"#,
      #"{"v":1,"run":1,"is":"teleported","next":2"#,
      #"{"v":1,"run":1,"is":"waiting","where":"mars","next":2"#,
      #"{"v":1,"run":1,"is":"waiting","rank":{},"next":2"#,
      #"{"v":1,"next":2"#,
      #"{"v":1,"run":1,"is":"cancelled","at":"2027-02-30T08:00:00.000000Z","next":2"#,
      #"{"v":0,"run":1,"is":"waiting","next":2"#,
      // Of the format before the first release.
      #"{"v":1,"e":"cancelled","id":1,"at":"2027-01-15T08:00:00.000000Z","next":2"#,
    ])
  func foreign(line: String) throws {
    let text = JournalLine.summed(Bytes(line.utf8), at: 0) + Bytes("\n")
    try write(text, to: folder.journal)
    var reader = JournalReader(folder)
    let failure = #expect(throws: Failure.self) { try reader.read() }
    let isNewer = line.contains(/"v":[2-9]|"v":1\d/)
    #expect(failure?.why.contains("written by a newer version") == isNewer)
    #expect(failure?.next.contains("sed -i.bak 1d") == !isNewer)
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
    try Journal(folder).append([.queue(Queue().paused(at: .test))])
    let queue = try Replayed(content(folder.journal)).queue
    #expect(queue.jobs.map(\.id) == [JobID.valid.upperBound] && queue.isPaused)
  }
}
