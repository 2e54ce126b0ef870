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
    try Spool(path: path("spool")).makeQueue(named: name).folder
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

func added(_ id: JobID, _ line: String = "true", after ids: [JobID] = [], ifOK: Bool = false)
  -> Entry
{
  let limits = Limits(ifOK: ifOK, after: JobID.ranges(of: ids))
  return .job(id, spec(line, JobSpec.Details(limits: limits)))
}

/// The lines of a batch that begins there, in a queue that was paused before or not.
func lines(
  _ entries: [Entry], next: JobID, isPaused: Bool = false, at start: Int = 0
) -> [Bytes] {
  var (isPaused, start) = (isPaused, start)
  return entries.enumerated().map { index, entry in
    if case .queue(let properties) = entry { isPaused = properties.pause != nil }
    var coder = LineCoder(at: start)
    defer { start = coder.position }
    let more = entries.count - 1 - index
    JournalLine.write(
      Record(entry: entry, next: next, more: more, isPaused: isPaused), to: &coder)
    return coder.json.bytes
  }
}

/// The properties that an entry lost when it was written and read.
func lost(in entry: Entry, next: JobID = 2) -> [String] {
  var reader = JournalLine.Reader()
  return lines([entry], next: next).flatMap { line in
    let reading = line.dropLast().withUnsafeBufferPointer { reader.read($0) }
    guard case .record(let record) = reading else { return ["the line, which is \(line.text)"] }
    return record.entry == entry ? [] : differences(record.entry, entry)
  }
}

/// The properties that differ, by reflection.
private func differences(_ one: Any, _ other: Any, _ name: String = "") -> [String] {
  let (left, right) = (Mirror(reflecting: one), Mirror(reflecting: other))
  guard left.children.count == right.children.count, !left.children.isEmpty,
    left.displayStyle != .collection
  else { return "\(one)" == "\(other)" ? [] : [name] }
  return zip(left.children, right.children).flatMap { left, right in
    differences(left.value, right.value, left.label.map { "\(type(of: one)).\($0)" } ?? name)
  }
}
