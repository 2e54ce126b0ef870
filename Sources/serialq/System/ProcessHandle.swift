/// Refers to one process, and never to a later one with the same ID: `pidfd_open(2)`.
///
/// Where the system lacks it, refers to the ID.
package struct ProcessHandle: Sendable {
  private let pid: Int32
  private let file: FileDescriptor?

  /// Opens the process that has this ID now.
  ///
  /// Open it before checking what the process is: after the check the ID could be reused.
  package init(_ pid: Int32) {
    self.pid = pid
    let raw = Self.open(pid)
    file = raw < 0 ? nil : FileDescriptor(owning: raw)
  }

  /// Becomes readable when the process ends; nil where the system lacks it.
  ///
  /// Closed with the last copy of this value.
  package var descriptor: Int32? { file?.raw }

  /// Waits until the process has ended, at most until a time of the monotonic clock.
  ///
  /// Returns whether it has; nil if there was no process, or where the system lacks it.
  package func waitForEnd(until deadline: Int64?) throws(Failure) -> Bool? {
    guard let file else { return nil }
    // Otherwise it could be closed during the wait, and its number belong to another file.
    defer { withExtendedLifetime(file) {} }
    return try waitForInput(on: [file.raw], until: deadline)[0]
  }

  /// Sends a signal by `pidfd_send_signal(2)`, or else by `kill(2)`; returns 0 or `errno`.
  package func send(_ signal: Int32) -> Int32 {
    precondition(pid > 1)
    if let file {
      if Self.send(signal, to: file.raw) == 0 { return 0 }
      let error = errno
      if error != ENOSYS { return error }
    }
    return kill(pid, signal) == 0 ? 0 : errno
  }

  #if os(Linux)
    private static func open(_ pid: Int32) -> Int32 {
      Int32(truncatingIfNeeded: systemCall(434, Int(pid), 0, 0, 0))
    }

    private static func send(_ signal: Int32, to file: Int32) -> Int32 {
      Int32(truncatingIfNeeded: systemCall(424, Int(file), Int(signal), 0, 0))
    }
  #else
    private static func open(_ pid: Int32) -> Int32 { -1 }
    private static func send(_ signal: Int32, to file: Int32) -> Int32 { -1 }
  #endif
}

#if os(Linux)
  /// `syscall(2)`, which Swift does not import because its arguments vary.
  ///
  /// glibc has functions for these two calls only from 2.36 on, and a statically linked program
  /// cannot look for them at run time. Their numbers are the same on all architectures.
  @_silgen_name("syscall")
  private func systemCall(_ number: Int, _ one: Int, _ two: Int, _ three: Int, _ four: Int) -> Int
#endif
