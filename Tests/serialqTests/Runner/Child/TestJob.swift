import Foundation
import SerialqQueue
import SerialqSystem

@testable import SerialqRunner

/// A job in its own folder, with its log and its lock.
struct TestJob {
  let log: FileDescriptor
  var process: JobProcess
  private let folder: TemporaryFolder

  /// Runs a command line, unless the test sets another command.
  init(_ line: StaticString = "true") throws {
    folder = try TemporaryFolder()
    log = try FileDescriptor.open(folder.path("log"), .log)
    let lock = try FileDescriptor.open(folder.path("lock"), .lock)
    try lock.lock()
    process = JobProcess(
      command: .shell(Bytes(line)), environment: [Bytes("PATH=/usr/bin:/bin")],
      directory: folder.path, umask: 0o022, streams: .files(input: nil, output: log), lock: lock)
  }

  func output() throws -> Bytes { try content(folder.path("log")) }

  func start() throws -> ChildProcess { try process.start() }

  func run() throws -> Ending {
    let child = try start()
    try child.waitUntilEnded()
    return try child.reap()
  }

  /// A file in the job's folder, with the given mode.
  func addFile(_ name: String, _ text: String, mode: Int) throws {
    let parts = name.split(separator: "/")
    if parts.count > 1 { _ = try FileSystem.makeFolder(folder.path(String(parts[0]))) }
    try writeProgram(Bytes(text.utf8), to: folder.path(name), mode: mode)
  }
}
