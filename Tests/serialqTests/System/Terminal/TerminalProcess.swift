@testable import SerialqRunner
@testable import SerialqSystem
import Testing

/// A shell that leads a session with a pseudo-terminal; killed with the last reference to it.
final class TerminalProcess: Sendable {
  let terminal: ServedTerminal
  let pid: Int32

  /// Runs a command line with the terminal as its standard input, output and error.
  init(_ line: String) throws {
    let new = try PseudoTerminal(TerminalWindow(columns: 80, rows: 24))
    terminal = try ServedTerminal(master: new.master)
    let process = JobProcess(
      command: .shell(Bytes(line.utf8)), environment: [Bytes("PATH=/usr/local/bin:/usr/bin:/bin")],
      directory: Bytes("/"), umask: 0o022, streams: .terminal(new.path), lock: nil)
    pid = try process.start().pid
  }

  deinit {
    kill(-pid, SIGKILL)
    waitpid(pid, nil, 0)
  }

  /// Waits until the terminal shows this text, and returns everything until then.
  @discardableResult
  func waitForOutput(_ text: String) throws -> String {
    var all = Bytes()
    let end = LaunchedProgram.deadline()
    while !all.text.contains(text) {
      let isReadable = try waitForInput(on: [terminal.master.raw], until: end) == [true]
      guard isReadable, let bytes = try terminal.read() else {
        throw Failure("waiting for \(text)", all.text, next: "That is what came.")
      }
      all += bytes
    }
    return all.text
  }

  /// Types all of the keys.
  func type(_ keys: String) throws {
    let count = try terminal.master.writeSome(Bytes(keys.utf8)[...])
    try #require(count == keys.utf8.count)
  }
}
