import Foundation
@testable import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

/// A folder that is deleted with the last reference to it.
final class TemporaryFolder: Sendable {
  let path: Bytes

  init() throws {
    var template = Array("/tmp/serialq-test-XXXXXX\0".utf8CString)
    try #require(mkdtemp(&template) != nil)
    path = template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
  }

  deinit { TemporaryFolder.remove(path) }

  func path(_ name: String) -> Bytes { path.appending(path: Bytes(name.utf8)) }

  /// A separate queue in this folder.
  func queue(_ name: String = "q") throws -> QueueFolder {
    try Spool(path: path("spool")).makeQueue(named: Bytes(name.utf8)).folder
  }

  /// Removes a folder and its content.
  static func remove(_ path: Bytes) {
    for name in (try? FileSystem.names(in: path)) ?? [] {
      let entry = path.appending(path: name)
      if (try? FileSystem.status(of: entry)?.kind) == .folder {
        remove(entry)
      } else {
        try? FileSystem.remove(entry)
      }
    }
    _ = path.withCString { rmdir($0) }
  }
}

/// A suite in which every test has its own queue.
class QueueSuite {
  let temporary: TemporaryFolder
  let folder: QueueFolder

  init() throws {
    temporary = try TemporaryFolder()
    folder = try temporary.queue()
  }
}

extension SeededGenerator {
  mutating func bytes(upTo count: Int, in range: ClosedRange<UInt8> = 0...255) -> Bytes {
    (0..<Int.random(in: 0...count, using: &self)).map { _ in .random(in: range, using: &self) }
  }
}

func write(_ bytes: Bytes, to path: Bytes) throws {
  try FileDescriptor.open(path, .emptied).writeAll(bytes)
}

/// Writes an executable file.
///
/// In another process: between fork and exec, every child that a concurrent test spawns has a copy
/// of every descriptor that is open here, and a file that is open for writing cannot be executed
/// (ETXTBSY).
func writeProgram(_ text: Bytes, to path: Bytes, mode: Int = 0o755) throws {
  let source = path + Bytes(".text")
  try write(text, to: source)
  let install = try Process.run(
    URL(fileURLWithPath: "/usr/bin/install"),
    arguments: ["-m", String(mode, radix: 8), source.text, path.text])
  install.waitUntilExit()
  guard install.terminationStatus == 0 else { throw CocoaError(.fileWriteUnknown) }
  try FileSystem.remove(source)
}

/// Reads a file, whatever its owner.
func content(_ path: Bytes) throws -> Bytes {
  try FileDescriptor.open(path, .read, followingLinks: true).readAll()
}

/// A queue after these events.
func queue(_ events: [Event]) -> Queue {
  var queue = Queue()
  for event in events { queue.apply(event) }
  return queue
}

func queue(_ events: Event...) -> Queue { queue(events) }

func newJob(_ id: JobID, _ line: String = "true") -> NewJob {
  NewJob(
    id: id,
    Payload(
      .shell(Bytes(line.utf8)),
      in: ExecutionContext(directory: Bytes("/"), environment: Bytes("e"), umask: 0o22)),
    at: Timestamp(microseconds: 1_800_000_000_000_000))
}

/// A job in a state, with a last attempt that started then and took so long.
func replayedJob(
  _ new: NewJob, _ state: JobState, started: Timestamp? = nil, nanoseconds: Int64 = 0
) -> Job? {
  let id = new.id
  func end(_ how: Ending, _ cause: EndCause = .itself) -> Event {
    .ended(id: id, at: new.at, duration: nanoseconds, how: how, cause: cause)
  }
  let change: Event? =
    switch state {
    case .waiting, .running: nil
    case .succeeded: end(.exited(0))
    case .failed: end(.exited(1))
    case .killed: end(.killed(9))
    case .timedOut: end(.killed(15), .timedOut)
    case .cancelled: end(.killed(15), .cancelled)
    case .interrupted: .interrupted(id: id, at: new.at)
    case .skipped: .skipped(id: id, at: new.at, because: 1)
    }
  var queue = Queue()
  queue.apply(.added(new))
  if state != .waiting && state != .skipped {
    queue.apply(.started(id: id, attempt: 1, at: started ?? new.at, boot: []))
  }
  if let change { queue.apply(change) }
  let job = queue.job(id)
  precondition(job?.state == state, "no event leads to this state")
  return job
}

func added(_ id: JobID, _ line: String = "true") -> Event { .added(newJob(id, line)) }

/// The lines of a batch, in a queue that was paused before or not.
func lines(_ events: [Event], next: JobID, isPaused: Bool = false) -> [Bytes] {
  var isPaused = isPaused
  return events.enumerated().map { index, event in
    if case .paused = event { isPaused = true }
    if case .resumed = event { isPaused = false }
    var json = JSONWriter()
    let more = events.count - 1 - index
    JournalLine.write(
      Record(event: event, next: next, more: more, isPaused: isPaused), to: &json)
    return json.bytes
  }
}

/// Whether the line written for an event reads back as the same event.
func isReadBack(_ event: Event, next: JobID = 2) -> Bool {
  var reader = JournalLine.Reader()
  return lines([event], next: next).allSatisfy { line in
    let reading = line.dropLast().withUnsafeBufferPointer { reader.read($0) }
    if case .record(let record) = reading { return record.event == event }
    return false
  }
}
