import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import Testing

/// `serialq attach` on a terminal of its own.
final class TerminalClient {
  let terminal: PseudoTerminal
  let child: ChildProcess
  private let slave: FileDescriptor

  init(_ scene: Scene, _ words: [Bytes] = [], variables: [Bytes] = []) throws {
    terminal = try PseudoTerminal(TerminalWindow(columns: 80, rows: 24))
    slave = try FileDescriptor.open(terminal.path, .readWrite, followingLinks: true)
    child = try ChildProcess(
      [Bytes("serialq"), Bytes("attach")] + words, scene, .terminal(terminal.path),
      variables: variables)
  }

  /// Reads what it shows until that contains `text`, or the client ends.
  func read(until text: String) throws -> Bytes {
    let handle = ProcessHandle(child.pid)
    let end = LaunchedProgram.deadline()
    var shown = Bytes()
    while !shown.text.contains(text), Clock.monotonic() < end {
      let ready = try waitForInput(
        on: [terminal.master.raw, try #require(handle.descriptor)], until: end)
      guard ready[0] else { break }
      guard let piece = try? terminal.master.readSome(4096), !piece.isEmpty else { break }
      shown += piece
    }
    return shown
  }

  /// Whether the terminal is as a shell expects it.
  var isUsual: Bool {
    var mode = termios()
    return tcgetattr(slave.raw, &mode) == 0 && mode.c_lflag & tcflag_t(ICANON) != 0
      && mode.c_lflag & tcflag_t(ECHO) != 0
  }
}

extension ChildProcess {
  /// Starts a program of a scene as a runner starts a job, with these descriptors or on a terminal.
  init(
    _ words: [Bytes], _ scene: Scene, _ streams: JobProcess.Streams, variables: [Bytes],
    lock: FileDescriptor? = nil, blockedSignal: Int32? = nil
  ) throws {
    let process = JobProcess(
      command: .arguments(words),
      environment: scene.launchOptions.environment + [Bytes("TERM=xterm")] + variables,
      directory: scene.work, umask: 0o022, streams: streams, lock: lock,
      blockedSignal: blockedSignal)
    self = try process.start()
  }

  /// Waits for its end; if it hangs, the test fails.
  func end(_ place: String) throws -> Ending {
    let hasEnded = try ProcessHandle(pid).waitForEnd(until: LaunchedProgram.deadline())
    try #require(hasEnded != nil)
    if hasEnded == false {
      Issue.record("\(place): it does not end")
      _ = kill(pid, SIGKILL)
    }
    return try reap()
  }
}
