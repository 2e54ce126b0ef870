import SerialqSystem

/// A process that this one started: waiting for it, reaping it, ending it.
package struct ChildProcess: Equatable {
  var pid: Int32

  package init(pid: Int32) {
    self.pid = pid
  }

  /// Waits until it has ended, and leaves it to be reaped: `waitid(2)` with WNOWAIT.
  ///
  /// Until it is reaped its number stands for nobody else. So what is recorded about its end, and
  /// a signal that is sent to it meanwhile, cannot be about a stranger.
  func waitUntilEnded() throws(Failure) {
    var information = siginfo_t()
    while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0 {
      try Self.failUnlessInterrupted("waiting for process \(pid)")
    }
  }

  /// Takes its exit status, after which the number may become another process's: `waitpid(2)`.
  ///
  /// Waits if it has not ended yet.
  package func reap() throws(Failure) -> ExitStatus {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) != pid {
      try Self.failUnlessInterrupted("waiting for process \(pid)")
    }
    return ExitStatus(waitStatus: status)
  }

  /// Sends `signal` to the process group that it leads, grandchildren included: `kill(2)`.
  ///
  /// Gives `false` if nobody is left in the group. To be called before `reap`: then, with nobody
  /// left, the number could already be another group's.
  func signalGroup(_ signal: Int32) throws(Failure) -> Bool {
    // 0 and 1 would address this process's own group and every process there is.
    precondition(pid > 1)
    guard kill(-pid, signal) != 0 else { return true }
    let error = errno
    // macOS says EPERM of a group in which all have ended and are not reaped.
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
