import SerialqSystem

/// Becomes readable, for ``waitForInput(on:until:)``, when a blocking call would return.
package final class Notice: Sendable {
  private enum Source {
    case process(ProcessHandle, Int32)
    case thread(WakeUpPipe)
  }

  private let source: Source

  /// Reports the end of a child process, and does not reap it: until then, its ID is not reused.
  ///
  /// Needs no thread where the system has `pidfd_open(2)`: two switches of threads are much of the
  /// time from the end of a job to the next.
  package init(ofEndOf child: ChildProcess) throws(Failure) {
    let handle = ProcessHandle(child.pid)
    source =
      if let descriptor = handle.descriptor { .process(handle, descriptor) } else {
        // `reap` reports the error.
        try Self.thread { _ = try? child.waitUntilEnded() }
      }
  }

  /// Reports the end of any process; nil where the system lacks `pidfd_open(2)`.
  convenience init?(ofEndOf process: ProcessStatus) {
    let handle = ProcessHandle(process.pid)
    guard let descriptor = handle.descriptor else { return nil }
    self.init(.process(handle, descriptor))
  }

  private init(_ source: Source) { self.source = source }

  /// Reports that a call that blocks another thread has returned.
  package init(of wait: @escaping @Sendable () -> Void) throws(Failure) {
    source = try Self.thread(wait)
  }

  /// Reports that no process holds a lock any more.
  convenience init(ofRelease lock: FileDescriptor) throws(Failure) {
    try self.init {
      try? lock.lock()
      lock.unlock()
    }
  }

  private static func thread(_ wait: @escaping @Sendable () -> Void) throws(Failure) -> Source {
    let pipe = try WakeUpPipe()
    try StartedThread {
      wait()
      pipe.wake()
    }.detach()
    return .thread(pipe)
  }

  package var descriptor: Int32 {
    switch source {
    case .process(_, let descriptor): descriptor
    case .thread(let pipe): pipe.descriptor
    }
  }
}
