import SerialqQueue
import SerialqRunner
import SerialqSystem

/// Wakes when the runner of a queue has ended, for any reason: a killed runner reports nothing.
///
/// Waits for its process. If that is not known, or on a system that cannot wait for one, waits on a
/// thread for the runner lock.
final class RunnerEnd: Sendable {
  private let process: (pid: Int32, handle: ProcessHandle)?
  private let released: Notice?
  /// Becomes readable when the runner has ended.
  let descriptor: Int32

  init(_ folder: QueueFolder) throws(Failure) {
    if let pid = try RunnerLock.holder(folder) {
      let handle = ProcessHandle(pid)
      // Checked after it was opened: the ID of an earlier runner may belong to another process.
      if let descriptor = handle.descriptor, try RunnerLock.isHeld(folder),
        try RunnerLock.holder(folder) == pid
      {
        process = (pid, handle)
        released = nil
        self.descriptor = descriptor
        return
      }
    }
    let lock = try RunnerLock.open(folder)
    let released = try Notice {
      try? lock.lockShared()
      lock.unlock()
    }
    process = nil
    self.released = released
    descriptor = released.descriptor
  }

  /// Whether the runner has ended.
  func isOver() throws(Failure) -> Bool {
    try waitForInput(on: [descriptor], until: 0) == [true]
  }

  /// Whether the process may have released the lock: it can live on while the reader of its
  /// output is blocked.
  func isOutdated(in folder: QueueFolder) throws(Failure) -> Bool {
    // Without a lock file, the queue is being removed: making one would keep a part of it.
    guard let process, try FileSystem.status(of: folder.runnerLock) != nil else { return false }
    return try RunnerLock.holder(folder) != process.pid
  }
}
