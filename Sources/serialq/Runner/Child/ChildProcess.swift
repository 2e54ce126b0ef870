import SerialqSystem

/// A child process: waiting, reaping, signaling.
package struct ChildProcess: Equatable {
  var pid: Int32

  package init(pid: Int32) {
    self.pid = pid
  }

  /// Waits for the end of the process without reaping it, by `waitid(2)` with WNOWAIT.
  ///
  /// The process ID is not reused until it is reaped. So records of its end and signals sent to it
  /// cannot concern another process.
  func waitUntilEnded() throws(Failure) {
    var information = siginfo_t()
    while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0 {
      try Self.failUnlessInterrupted("waiting for process \(pid)")
    }
  }

  /// Reaps the process by `waitpid(2)`, after which its ID may be reused.
  ///
  /// Blocks until it has ended.
  package func reap() throws(Failure) -> ExitStatus {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) != pid {
      try Self.failUnlessInterrupted("waiting for process \(pid)")
    }
    return ExitStatus(waitStatus: status)
  }

  /// Sends `signal` to the process group that the process leads, by `kill(2)`.
  ///
  /// Returns `false` if the group is empty. Call it before `reap`: after that, the ID of an empty
  /// group may be reused.
  func signalGroup(_ signal: Int32) throws(Failure) -> Bool {
    // 0 would address the caller's own group, and 1 all processes.
    precondition(pid > 1)
    guard kill(-pid, signal) != 0 else { return true }
    let error = errno
    // macOS returns EPERM for a group of zombies.
    guard error != ESRCH, !(error == EPERM && Self.saysDeniedOfTheDead) else { return false }
    throw SystemError("kill", error).failure(
      "sending \(SignalName.of(signal)) to process group \(pid)")
  }

  #if canImport(Glibc)
    private static let saysDeniedOfTheDead = false
  #else
    private static let saysDeniedOfTheDead = true
  #endif

  private static func failUnlessInterrupted(_ what: String) throws(Failure) {
    let error = errno
    guard error != EINTR else { return }
    throw SystemError("waitpid", error).failure(what)
  }
}
