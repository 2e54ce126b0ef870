import SerialqQueue
import SerialqSystem

/// A job's terminal, and the process that holds its other end; see ``Keeper``.
package struct KeeperProcess {
  /// The argument that starts the program as a keeper; followed by the names of the queue and the
  /// job.
  ///
  /// Only serialq itself uses it. It sets SERIALQ_DIR, and passes the other end of the terminal as
  /// descriptor 0, the log as 1 and 2, and the locked lock of the keeper as 63.
  package static let word = Bytes("terminal-keeper")

  /// The signal that reports the end of the job to its keeper.
  static let signal = SIGTERM

  /// The terminal, which must be kept open until the job has it.
  private let terminal: PseudoTerminal
  let running: Running

  /// The path of the job's terminal.
  var path: Bytes { terminal.path }

  enum Started {
    case running(KeeperProcess)
    case cannotRun(ExitCode, reason: String)
  }

  /// Opens a terminal and starts its keeper.
  static func start(
    for job: Job, in folder: QueueFolder, log: FileDescriptor
  ) -> Started {
    do throws(Failure) {
      let terminal = try PseudoTerminal(job.terminalSize)
      let lock = try KeeperLock.take(job.id, folder)
      let process = JobProcess(
        command: .arguments([
          Machine.program(), word, folder.name, Bytes("\(job.id)".utf8),
        ]),
        environment: [Bytes("SERIALQ_DIR=") + Bytes(folder.path.dropLast(folder.name.count + 1))],
        directory: Bytes("/"), umask: 0o077,
        streams: .files(input: terminal.master.raw, output: log.raw), lock: lock.raw,
        blockedSignal: signal)
      switch withExtendedLifetime((terminal, log, lock), { process.start() }) {
      case .running(let pid):
        let running = Running(process: ChildProcess(pid: pid))
        return .running(KeeperProcess(terminal: terminal, running: running))
      case .cannotRun(let code, let reason): return .cannotRun(code, reason: reason)
      }
    } catch {
      return .cannotRun(error.code, reason: error.sentence)
    }
  }

  /// The process of a keeper; holds no terminal open.
  struct Running {
    fileprivate let process: ChildProcess

    /// Reports the end of the job to the keeper, waits until it has copied the last output, and
    /// returns how it ended.
    func finish() throws(Failure) -> Ending {
      // Not reaped, so the ID is its own.
      KeeperProcess.end(process.pid) { _ = kill(process.pid, $0) }
      return try process.reap()
    }
  }

  /// Reports the end of the job to its keeper, and continues that if it is suspended.
  ///
  /// Only then: a debugger or sanitizer that is about to stop the process would miss the stop.
  private static func end(_ pid: Int32, _ send: (Int32) -> Void) {
    send(signal)
    if ProcessStatus.of(pid)?.isSuspended == true { send(SIGCONT) }
  }

  /// Ends the keeper of a job whose runner died and which is gone, and waits for it.
  static func finishOrphan(_ id: JobID, _ runner: Runner) throws(Failure) {
    guard let lock = try FileDescriptor.openIfThere(runner.folder.keeperLock(id), .readWrite)
    else { return }
    if try lock.tryLock() { return lock.unlock() }
    if let (pid, keeper) = KeeperLock.keeper(id, runner.folder) {
      end(pid) { _ = keeper.send($0) }
    }
    let free = try Notice {
      try? lock.lock()
      lock.unlock()
    }
    while try !runner.supervision.waitForChange(until: nil, orFor: free.descriptor)[0] {
      runner.supervision.drain()
    }
  }
}

extension Job {
  /// The size of the job's terminal before one is attached.
  fileprivate var terminalSize: TerminalWindow {
    guard let terminal, terminal.rows > 0, terminal.columns > 0 else {
      return TerminalWindow(columns: 80, rows: 24)
    }
    return TerminalWindow(columns: terminal.columns, rows: terminal.rows)
  }
}
