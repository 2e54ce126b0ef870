import SerialPromises
import SerialqQueue
import SerialqSystem

/// A child process: waiting, reaping, signaling.
package struct ChildProcess: Equatable {
  var pid: Int32

  package init(pid: Int32) {
    self.pid = pid
  }

  /// The processes that this one has started and not reaped, which ``Adoption`` must not reap.
  static let started = Locked<Set<Int32>>([])

  /// Waits for the end of the process without reaping it, by `waitid(2)` with WNOWAIT.
  ///
  /// The process ID is not reused until it is reaped. So records of its end and signals sent to it
  /// cannot concern another process.
  ///
  /// With `continuing`, continues the process whenever it is stopped. Its state in a moment does
  /// not show that: a SIGSTOP may have been sent that has no effect yet.
  @discardableResult
  package func waitUntilEnded(continuing: Bool = false) throws(Failure) -> Ending {
    let events = continuing ? WEXITED | WSTOPPED : WEXITED
    var information = siginfo_t()
    repeat {
      _ = try retrying("waitid", "waiting for", name) {
        waitid(P_PID, id_t(pid), &information, events | WNOWAIT)
      }
      // A stop that is reported lasts until this.
      if information.si_code == CLD_STOPPED { kill(pid, SIGCONT) }
    } while information.si_code == CLD_STOPPED
    #if canImport(Glibc)
      let status = information._sifields._sigchld.si_status
    #else
      let status = information.si_status
    #endif
    return information.si_code == CLD_EXITED ? .exited(status) : .killed(status)
  }

  /// Reaps the process by `waitpid(2)`, after which its ID may be reused.
  ///
  /// Blocks until it has ended.
  package func reap() throws(Failure) -> Ending {
    var status: Int32 = 0
    _ = try retrying("waitpid", "waiting for", name) { waitpid(pid, &status, 0) }
    ChildProcess.started.withLock { _ = $0.remove(pid) }
    return Ending(waitStatus: status)
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
    guard error != ESRCH, !(error == EPERM && Self.returnsEPERMForZombies) else { return false }
    let sent = "\(SignalName.of(signal)) to process group \(pid)"
    throw Failure("kill", error, "sending", Bytes(sent.utf8))
  }

  #if canImport(Glibc)
    private static let returnsEPERMForZombies = false
  #else
    private static let returnsEPERMForZombies = true
  #endif

  private var name: Bytes { Bytes("process \(pid)".utf8) }
}

extension Ending {
  /// Decodes the status of `waitpid(2)` for a process that has ended.
  ///
  /// Swift does not import the C macros. The layout is the same on Linux and macOS: the signal in
  /// bits 0 to 6, the exit code in bits 8 to 15.
  init(waitStatus: Int32) {
    let signal = waitStatus & 0x7F
    self = signal == 0 ? .exited((waitStatus >> 8) & 0xFF) : .killed(signal)
  }

  /// That no process could be started.
  init(_ failure: Failure) {
    self = .cannotRun(failure.code.rawValue, reason: Bytes(failure.sentence.utf8))
  }

  /// The exit code of a shell: the exit code itself, or 128 plus the signal.
  package var shellCode: ExitCode {
    switch self {
    case .exited(let code), .cannotRun(let code, _): ExitCode(rawValue: code)
    case .killed(let signal): ExitCode(rawValue: 128 + signal)
    }
  }
}
