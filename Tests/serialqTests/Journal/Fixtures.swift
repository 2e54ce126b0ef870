import Testing

@testable import serialq

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A folder that is gone with the last reference to it.
final class TemporaryFolder: Sendable {
  let path: Bytes

  init() throws {
    var template = Array("/tmp/serialq-test-XXXXXX\0".utf8CString)
    try #require(mkdtemp(&template) != nil)
    path = template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
  }

  deinit { TemporaryFolder.remove(path) }

  func path(_ name: String) -> Bytes { path.appending(path: Bytes(name.utf8)) }

  /// A queue of its own in this folder.
  func queue(_ name: String = "q") throws -> QueueFolder {
    try Spool(path: path("spool")).makeQueue(named: Bytes(name.utf8))
  }

  private static func remove(_ path: Bytes) {
    for name in (try? FileSystem.names(in: path)) ?? [] {
      let entry = path.appending(path: name)
      if (try? FileSystem.status(of: entry)?.kind) == .folder {
        remove(entry)
      } else {
        try? FileSystem.remove(entry)
      }
    }
    _ = path.withCPath { rmdir($0) }
  }
}

/// SplitMix64: the same numbers for the same seed, on every machine.
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  mutating func bytes(upTo count: Int, in range: ClosedRange<UInt8> = 0...255) -> Bytes {
    (0..<Int.random(in: 0...count, using: &self)).map { _ in .random(in: range, using: &self) }
  }
}

func write(_ bytes: Bytes, to path: Bytes) throws {
  try FileDescriptor.open(path, [.readWrite, .create, .truncate]).writeAll(bytes)
}

func content(_ path: Bytes) throws -> Bytes { try FileDescriptor.open(path, .read).readAll() }

func newJob(_ id: JobID, _ line: String = "true") -> NewJob {
  NewJob(
    id: id, command: .shell(Bytes(line.utf8)), directory: Bytes("/"), environment: Bytes("e"),
    umask: 0o22, label: nil, at: Timestamp(microseconds: 1_800_000_000_000_000))
}

func added(_ id: JobID, _ line: String = "true") -> Event { .added(newJob(id, line)) }

/// The lines of a batch.
func lines(_ events: [Event], next: JobID) -> [Bytes] {
  events.enumerated().map { index, event in
    var json = JSONWriter()
    JournalLine.write(Record(event: event, next: next, more: events.count - 1 - index), to: &json)
    return json.bytes
  }
}

/// What a replay makes of a text.
struct Replayed {
  var queue = Queue()
  var damaged: [DamagedLine] = []
  var committed: Int64 = 0

  init(_ text: Bytes) throws {
    var replay = Replay()
    try text.withUnsafeBufferPointer { text in
      var start = 0
      var end = 0
      while end < text.count {
        guard text[end] == UInt8(ascii: "\n") else {
          end += 1
          continue
        }
        let next = try replay.take(UnsafeBufferPointer(rebasing: text[start..<end])) { item in
          switch item {
          case .record(let record): queue.apply(record)
          case .damaged(let line):
            queue.skipID()
            damaged.append(line)
          }
        }
        start = next == .following ? end + 1 : Int(replay.committed)
        end = start
      }
    }
    committed = replay.committed
  }
}

/// A history as runners and adders could have written it, in batches.
func randomHistory(_ generator: inout SeededGenerator, batches: Int) -> [[Event]] {
  var queue = Queue()
  var history: [[Event]] = []
  var now = Timestamp(microseconds: 1_800_000_000_123_456)
  while history.count < batches {
    now.microseconds += .random(in: 1...5_000_000, using: &generator)
    let batch: [Event]
    switch Int.random(in: 0..<8, using: &generator) {
    case 0..<3:
      let count = [1, 1, 1, 2, 3].randomElement(using: &generator) ?? 1
      batch = (0..<count).map { index in
        .added(randomJob(queue.nextID + index, now, &generator))
      }
    case 3:
      guard let job = queue.firstWaiting else { continue }
      batch = [.cancelled(id: job.id, at: now)]
    case 4, 5:
      guard let job = queue.firstWaiting, queue.running.isEmpty else { continue }
      batch = [.started(id: job.id, attempt: 1, at: now, boot: Bytes("b-1"))]
    case 6:
      guard let id = queue.running.first else { continue }
      batch = [.spawned(id: id, pid: .random(in: 2...99_999, using: &generator))]
    default:
      guard let id = queue.running.first else { continue }
      let endings: [Ending] = [
        .exited(0), .exited(3), .killed(9), .cannotRun(127, reason: Bytes("not found")),
      ]
      guard let how = endings.randomElement(using: &generator) else { continue }
      batch = [
        Bool.random(using: &generator)
          ? .interrupted(id: id, at: now)
          : .ended(
            id: id, at: now, duration: 1_234_567, how: how, cancelled: .random(using: &generator))
      ]
    }
    batch.forEach { queue.apply($0) }
    history.append(batch)
  }
  return history
}

private func randomJob(
  _ id: JobID,
  _ now: Timestamp,
  _ generator: inout SeededGenerator
) -> NewJob {
  let words = (0..<3).map { _ in generator.bytes(upTo: 6, in: 1...255) }
  return NewJob(
    id: id,
    command: Bool.random(using: &generator) ? .shell(words[0]) : .arguments(words),
    directory: Bytes("/tmp"), environment: Bytes("0123456789abcdef"), umask: 0o22,
    label: Bool.random(using: &generator) ? words[2] : nil, at: now)
}
