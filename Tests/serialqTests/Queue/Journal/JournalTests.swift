import SerialPromises
@testable import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

@Suite final class JournalTests: QueueSuite {
  /// Fails to flush.
  private static let broken = JournalOutput(
    write: JournalOutput.system.write,
    flush: { (_) throws(Failure) in throw Failure("fdatasync", EIO, "flushing") })

  // Fails when the truncation is not flushed at once: a power loss could bring back a change that
  // was reported as failed.
  @Test("A rolled-back change is removed from the disk too")
  func takenBack() throws {
    try Journal(folder).append([added(1)])
    let size = try content(folder.journal).count
    let path = temporary.path
    let full = JournalOutput(
      write: { (file, bytes) throws(Failure) in
        try file.writeAll(bytes)
        throw Failure("write", ENOSPC, "writing")
      },
      flush: { (file) throws(Failure) in
        let size = try file.status().size
        _ = try FileSystem.makeFolder(path.appending(path: Bytes("flushed-\(size)".utf8)))
      })
    #expect(throws: Failure.self) { try Journal(folder, output: full).append([added(2)]) }
    #expect(try FileSystem.status(of: temporary.path("flushed-\(size)")) != nil)
  }

  // Fails if the message names a path of the queue: do not use `whileItExists`.
  @Test("A queue that another process removes before its lock is opened is named")
  func removedBefore() throws {
    try Journal(folder).append([added(1)])
    try folder.remove()
    let failures = [
      #expect(throws: Failure.self) { try Journal(folder).append([added(2)]) },
      #expect(throws: Failure.self) { try InputCopy(of: .standardInput(), in: folder) },
    ]
    for failure in failures {
      #expect(failure?.what == "queue \(folder.name)")
      #expect(failure?.why == "it was removed at this moment")
    }
  }

  // Fails when only a failed write is rolled back: a line that could not be flushed may be gone
  // after a crash.
  @Test(
    "A change that cannot be flushed is rolled back, and a reader that saw it starts again",
    .shows(OnDisk.failuresChangeNothing))
  func failedFlush() throws {
    try Journal(folder).append([added(1)])
    var reader = JournalReader(folder)
    try reader.read()
    let folder = folder
    let seen = Seen()
    let broken = JournalOutput(
      write: JournalOutput.system.write,
      flush: { (_) throws(Failure) in
        seen.look(folder)
        throw Failure("fdatasync", EIO, "flushing")
      })
    #expect(throws: Failure.self) { try Journal(folder, output: broken).append([added(2)]) }
    #expect(seen.ids == [1, 2])
    // Longer than the rolled-back line, so that the size alone does not reveal the change.
    try Journal(folder).append([added(2, String(repeating: "x", count: 300))])
    let news = try seen.read()
    #expect(news?.replaced != nil)
    #expect(seen.ids == [1, 2])
    #expect(seen.queue.job(2)?.command == .shell(Bytes(repeating: UInt8(ascii: "x"), count: 300)))
  }

  // Fails when a successful flush after a failed one is trusted: data of an earlier append may be
  // lost.
  @Test("After a failed flush the journal is rewritten, once")
  func rewritten() throws {
    try Journal(folder).append([added(1)])
    let first = try FileSystem.status(of: folder.journal)?.identity
    #expect(throws: Failure.self) {
      try Journal(folder, output: Self.broken).locked { (scope) throws(Failure) in try scope.flush()
      }
    }
    try Journal(folder).append([added(2)])
    let second = try FileSystem.status(of: folder.journal)?.identity
    #expect(first != second)
    try Journal(folder).append([added(3)])
    #expect(try FileSystem.status(of: folder.journal)?.identity == second)
    #expect(try Replayed(content(folder.journal)).queue.jobs.map(\.id) == [1, 2, 3])
  }

  // Fails when a reader trusts its own flush although an earlier one may have failed before it
  // opened the file; when it waits for the lock although it need not; or when it forgets a failure.
  @Test("A reader flushes without the lock what was appended since it opened the journal")
  func flushOfReader() throws {
    let folder = folder
    let flushed = Locked<[Bool]>([])
    let noted = JournalOutput(
      write: JournalOutput.system.write,
      flush: { (_) throws(Failure) in
        let isFree = try FileDescriptor.openIfThere(folder.lock, .check)?.tryLockShared()
        flushed.withLock { $0.append(isFree == true) }
      })
    try Journal(folder).append([added(1)])
    var reader = JournalReader(folder)
    try reader.read()
    try Journal(folder, output: noted).flush(readBy: reader)
    #expect(flushed.withLock { $0 } == [false])
    try Journal(folder).locked { (scope) throws(Failure) in
      try scope.append([added(2)], flush: false)
    }
    try reader.read()
    try Journal(folder, output: noted).flush(readBy: reader)
    #expect(flushed.withLock { $0 } == [false, true])
    #expect(throws: Failure.self) { try Journal(folder, output: Self.broken).flush(readBy: reader) }
    let file = try FileSystem.status(of: folder.journal)?.identity
    try Journal(folder).append([])
    #expect(try FileSystem.status(of: folder.journal)?.identity != file)
    #expect(try Replayed(content(folder.journal)).queue.jobs.map(\.id) == [1, 2])
  }

  // Fails when a command without changes reports as done what another process wrote before it died
  // without a flush.
  @Test("An append of nothing flushes pending data")
  func nothing() throws {
    let folder = folder
    try Journal(folder).locked { (scope) throws(Failure) in
      try scope.append([added(1)], flush: false)
    }
    #expect(throws: Failure.self) { try Journal(folder, output: Self.broken).append([]) }
  }

  // Fails when a name is trusted whose creator died before it flushed the folder.
  @Test("Unfinished flushes are completed before any other change")
  func leftToFlush() throws {
    try Journal(folder).append([added(1)])
    let lock = try FileDescriptor.open(folder.lock, .readWrite)
    try lock.truncate(to: UnfinishedWork.flushNames.rawValue)
    let away = temporary.path("away")
    try FileSystem.rename(folder.environments, to: away)
    // The flush cannot succeed, so no other change is made.
    #expect(throws: Failure.self) { try Journal(folder).append([added(2)]) }
    try FileSystem.rename(away, to: folder.environments)
    try Journal(folder).append([added(2)])
    #expect(try lock.status().size == 0)
    #expect(try Replayed(content(folder.journal)).queue.jobs.map(\.id) == [1, 2])
  }

  /// A reader that reads in the middle of an append.
  private final class Seen: Sendable {
    private let state = Locked<JournalReader?>(nil)

    var queue: Queue { state.withLock { $0?.queue ?? Queue() } }
    var ids: [JobID] { queue.jobs.map(\.id) }

    func look(_ folder: QueueFolder) {
      state.withLock { reader in
        // The rollback flushes too.
        guard reader == nil else { return }
        reader = JournalReader(folder)
        _ = try? reader?.read()
      }
    }

    func read() throws -> JournalReader.News? {
      try state.withLock { try $0?.read() }
    }
  }

  // Fails when the window for the last line does not grow: use only the first one.
  @Test("A last line of any length is read")
  func longLines() throws {
    for count in [1, 4_000, 4_096, 40_000, 700_000] {
      try Journal(folder).locked { (scope) throws(Failure) in
        try scope.append([added(try scope.nextID(), String(repeating: "x", count: count))])
      }
    }
    var reader = JournalReader(folder)
    let news = try reader.read()
    #expect(news == JournalReader.News(applied: 5))
    #expect(reader.queue.nextID == 6)
  }

  // Fails when the reader keeps its offset inside a batch, or reports a line twice.
  @Test(
    "A reader reports each line once, and a batch only when it is complete",
    .shows(OnDisk.onlyWhatIsNew))
  func follows() throws {
    var reader = JournalReader(folder)
    var reported: [Entry] = []
    #expect(try reader.read() == JournalReader.News())
    let first = Bytes(lines([added(1)], next: 2).joined())
    let text = first + lines([added(2), added(3)], next: 4, at: first.count).joined()
    let file = try FileDescriptor.open(folder.journal, .log)
    for byte in text {
      try file.writeAll([byte])
      try reader.read { entry, _, _ in reported.append(entry) }
      #expect([0, 1, 3].contains(reported.count))
    }
    #expect(reported == [added(1), added(2), added(3)])
    #expect(reader.lines == 3)
  }

  // Fails when only the piece that was read last is searched for a batch: it begins before that.
  @Test("A batch larger than the read buffer is reported once and in order, including damage")
  func largeBatch() throws {
    let first = Bytes(lines([added(1, "early")], next: 2).joined())
    var batch = lines((1...2_000).map { added($0) }, next: 2_001, at: first.count)
    batch[700][50] ^= 1
    let text = first + batch.joined()
    #expect(text.count > 1 << 18)
    try write(Bytes(text.dropLast(3)), to: folder.journal)
    var reader = JournalReader(folder)
    #expect(try reader.read() == JournalReader.News(applied: 1))
    try write(text, to: folder.journal)
    var reported: [JobID] = []
    let news = try reader.read { entry, _, _ in
      if case .job(let id, _) = entry { reported.append(id) }
    }
    #expect(reported == (1...2_000).filter { $0 != 701 })
    #expect(news.damaged.map(\.number) == [702])
    #expect(reader.lines == 2_001)
  }

  // Fails when the reader keeps the open file after it was replaced: do not compare the inodes.
  @Test(
    "Compaction preserves the queue, and a follower detects the reset",
    .shows(OnDisk.compaction, OnDisk.readersContinue),
    arguments: 1...UInt64((isLong ? 20 : 10) / ease))
  func compaction(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for batch in randomHistory(&generator, batches: 80) {
      try Journal(folder).locked { (scope) throws(Failure) in
        try scope.append(batch, flush: false)
      }
    }
    var reader = JournalReader(folder)
    try reader.read()
    let before = reader.queue
    let lines = reader.lines
    try Journal(folder).locked { (scope) throws(Failure) in
      _ = try scope.compact()
      #expect(try scope.nextID() == before.nextID)
      #expect(try scope.isPaused() == before.isPaused)
    }
    let news = try reader.read()
    #expect(news.replaced == before)
    let (isSame, isConsistent) = (reader.queue == before, reader.queue.isConsistent)
    #expect(isSame && isConsistent)
    #expect(reader.lines <= lines + before.jobs.count + 5)
    try Journal(folder).locked { (scope) throws(Failure) in
      try scope.append([added(try scope.nextID())])
    }
    #expect(try reader.read() == JournalReader.News(applied: 1))
    #expect(try FileSystem.status(of: folder.newJournal) == nil)
  }

  // Fails when compaction drops damaged lines, or environments that a job still needs.
  @Test(
    "Compaction keeps damaged lines in a separate file and deletes unused environments",
    .shows(OnDisk.damage))
  func compactionKeeps() throws {
    let key = try Journal(folder).locked { (scope) throws(Failure) in
      _ = try scope.storeEnvironment([Bytes("UNUSED=1")])
      let key = try scope.storeEnvironment([Bytes("A=b")])
      var spec = spec()
      spec.context.environment = key
      try scope.append([.job(1, spec), added(2)])
      return key
    }
    var text = try content(folder.journal)
    let damaged = text.count - 30
    text[damaged] ^= 0x01
    text += Bytes(lines([added(3)], next: 4, at: text.count).joined())
    try write(text, to: folder.journal)
    var reader = JournalReader(folder)
    #expect(try reader.read().damaged.map(\.number) == [2])
    #expect(reader.isWorthCompacting)
    try Journal(folder).locked { (scope) throws(Failure) in _ = try scope.compact() }
    #expect(try reader.read().damaged == [])
    #expect(reader.queue.jobs.map(\.id) == [1, 3])
    #expect(!reader.isWorthCompacting)
    #expect(text.split(separator: 10).map(Bytes.init)[1] + [10] == (try content(folder.damaged)))
    #expect(try FileSystem.names(in: folder.environments) == [key])
  }
}
