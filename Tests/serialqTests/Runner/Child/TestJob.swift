import Foundation
import SerialqQueue
import SerialqSystem

@testable import SerialqRunner

/// A job in its own folder, with its log and its lock.
struct TestJob: ~Copyable {
  let folder: URL
  let log: FileDescriptor
  var process: JobProcess

  /// Runs a command line, unless the test sets another command.
  init(_ line: StaticString = "true") throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let path = folder.path
    let log = open("\(path)/log", O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0o600)
    let lock = open("\(path)/lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard log > 2, lock > 2, flock(lock, LOCK_EX) == 0 else { throw CocoaError(.fileWriteUnknown) }
    self.log = FileDescriptor(owning: log)
    process = JobProcess(
      command: .shell(Bytes(line)), environment: [Bytes("PATH=/usr/bin:/bin")],
      directory: Bytes(path.utf8), umask: 0o022,
      streams: .files(input: nil, output: self.log), lock: FileDescriptor(owning: lock))
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// The lock as another process sees it.
  func openLock() throws -> Int32 {
    let lock = open("\(folder.path)/lock", O_RDWR | O_CLOEXEC)
    guard lock > 2 else { throw CocoaError(.fileReadUnknown) }
    return lock
  }

  func output() throws -> Bytes {
    try Bytes(Data(contentsOf: folder.appendingPathComponent("log")))
  }

  func start() throws -> ChildProcess { try process.start() }

  func run() throws -> Ending {
    let child = try start()
    try child.waitUntilEnded()
    return try child.reap()
  }

  /// A file in the job's folder, with the given mode.
  func addFile(_ name: String, _ text: String, mode: Int) throws {
    let file = folder.appendingPathComponent(name)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true
    )
    try writeProgram(Bytes(text.utf8), to: Bytes(file.path.utf8), mode: mode)
  }
}

func currentUmask() -> mode_t {
  let mask = umask(0o077)
  umask(mask)
  return mask
}
