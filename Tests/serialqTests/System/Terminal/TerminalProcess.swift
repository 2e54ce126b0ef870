import Testing

@testable import SerialqSystem

/// A shell that leads a session with a pseudo-terminal; killed with the last reference to it.
final class TerminalProcess: Sendable {
  let terminal: ServedTerminal
  let pid: Int32

  /// Runs a command line with the terminal as its standard input, output and error.
  init(_ line: String) throws {
    let new = try PseudoTerminal(TerminalWindow(columns: 80, rows: 24))
    terminal = try ServedTerminal(master: new.master)
    pid = try Self.spawn(["/bin/sh", "-c", line], new.path)
  }

  deinit {
    kill(-pid, SIGKILL)
    waitpid(pid, nil, 0)
  }

  private static func spawn(_ words: [String], _ path: Bytes) throws -> Int32 {
    #if canImport(Glibc)
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #else
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #endif
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    // Opened after the session is made, so that it becomes the controlling terminal.
    _ = path.withCString { posix_spawn_file_actions_addopen(&actions, 0, $0, O_RDWR, 0) }
    posix_spawn_file_actions_adddup2(&actions, 0, 1)
    posix_spawn_file_actions_adddup2(&actions, 0, 2)
    #if canImport(Glibc)
      posix_spawn_file_actions_addclosefrom_np(&actions, 3)
    #endif
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK))
    var pid: pid_t = 0
    let environment = [Bytes("PATH=/usr/local/bin:/usr/bin:/bin")]
    let error = words.map { Bytes($0.utf8) }.withCStrings { words in
      environment.withCStrings { posix_spawn(&pid, "/bin/sh", &actions, &attributes, words, $0) }
    }
    guard error == 0 else { throw Failure("posix_spawn", error, "starting a shell") }
    return pid
  }

  /// Waits until the terminal shows this text, and returns everything until then.
  @discardableResult
  func waitForOutput(_ text: String) throws -> String {
    var (all, buffer) = (Bytes(), Bytes())
    let end = Clock.monotonic() + Int64(LaunchedProgram.patience) * 1_000_000_000
    while !all.text.contains(text) {
      let isReadable = try waitForInput(on: [terminal.master.raw], until: end) == [true]
      guard isReadable, let bytes = try terminal.read(&buffer) else {
        throw Failure("waiting for \(text)", all.text, next: "That is what came.")
      }
      all += bytes
    }
    return all.text
  }

  /// Waits until the condition holds.
  ///
  /// Asks again and again: no event shows that a process has fallen asleep.
  func waitUntil(_ what: String, _ condition: () throws -> Bool) throws {
    let end = Clock.monotonic() + Int64(LaunchedProgram.patience) * 1_000_000_000
    while try !condition() {
      guard Clock.monotonic() < end else {
        throw Failure("waiting for \(what)", "it did not come", next: "See the test.")
      }
      sched_yield()
    }
  }

  /// Types all of the keys.
  func type(_ keys: String) throws {
    let count = try terminal.write(Bytes(keys.utf8))
    try #require(count == keys.utf8.count)
  }
}
