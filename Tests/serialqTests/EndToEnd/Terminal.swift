import SerialqSystem
import Testing

/// A real terminal with an interactive shell: a window of `tmux(1)`.
///
/// On a separate server, which ends with the last reference to it.
final class Terminal {
  private let scene: Scene
  private let socket: Bytes
  /// Grows with all output to the terminal.
  private let record: Bytes
  private let watch: FileWatch
  private let columns: Int

  /// Opens a window of this size with a shell that has `variables` in addition to the environment
  /// of every program in the scene, and types a line.
  init(
    _ scene: Scene, columns: Int = 80, rows: Int = 24, variables: [String] = [],
    typing line: String? = nil
  ) throws {
    self.scene = scene
    self.columns = columns
    // A server that is ending still accepts connections for a moment: another terminal of the scene
    // must not find it.
    let number = scene.nextNumber()
    socket = scene.folder.path("tmux\(number)")
    let folder = scene.folder.path("screen\(number)")
    _ = try FileSystem.makeFolder(folder)
    record = folder.appending(path: Bytes("record"))
    watch = try FileWatch(folders: [folder])
    // Job control as at a prompt, and no configuration of the user who runs the tests.
    let shell =
      ["/usr/bin/env"] + variables + ["PS1=$ ", "/bin/bash", "--norc", "--noprofile", "-i"]
    try tmux(["new-session", "-d", "-x", "\(columns)", "-y", "\(rows)"] + shell)
    try tmux(["pipe-pane", "cat >>'\(record.text)'"])
    // Like `clear`, and clears the scrollback too.
    try type("PS1='$ '; clear() { printf '\\e[H\\e[2J\\e[3J'; }; clear")
    try waitFor("an empty screen") { $0 == ["$"] }
    if let line { try type(line) }
  }

  deinit { _ = try? tmux(["kill-server"]) }

  /// Types a line, and Enter.
  func type(_ line: String) throws {
    try tmux(["send-keys", "-l", line, ";", "send-keys", "Enter"])
  }

  /// Types a line, and waits until a line of the screen begins with this text.
  func type(_ line: String, until start: String) throws {
    // What an earlier command printed does not count, even if the line begins with `clear`, which
    // takes a moment.
    if try screen().contains(where: { $0.hasPrefix(start) }) {
      try type("clear")
      try waitFor("an empty screen") { !$0.contains { $0.hasPrefix(start) } }
    }
    try type(line)
    try waitForLine(start)
  }

  /// Presses a key by its name: `C-c`, `Enter`.
  func press(_ key: String) throws { try tmux(["send-keys", key]) }

  func resize(columns: Int, rows: Int) throws {
    try tmux(["resize-window", "-x", "\(columns)", "-y", "\(rows)"])
  }

  /// The visible text and the scrollback, without empty rows at the end; times are replaced by
  /// TIME.
  func screen(colors: Bool = false) throws -> [String] {
    let captured = try tmux(["capture-pane", "-p", "-S", "-"] + (colors ? ["-e"] : []))
    var lines = captured.split(separator: "\n", omittingEmptySubsequences: false).map {
      Terminal.untimed(String($0))
    }
    while lines.last?.isEmpty == true { lines.removeLast() }
    return lines
  }

  func isCursorShown() throws -> Bool { try format("#{cursor_flag}") == "1" }

  /// What the terminal says of itself, by a format of tmux.
  func format(_ format: String) throws -> String {
    String(try tmux(["display-message", "-p", format]).dropLast())
  }

  /// Waits until the screen satisfies `condition`, and returns it; checks it on all output to the
  /// terminal.
  @discardableResult
  func waitFor(
    _ what: String, _ condition: ([String]) -> Bool
  ) throws -> [String] {
    // A display that shows the time prints something every second, so a limit on each single wait
    // would never be reached.
    let end = LaunchedProgram.deadline()
    while true {
      watch.drain()
      let screen = try screen()
      if condition(screen) { return screen }
      if try waitForInput(on: [watch.descriptor], until: end) == [false] {
        throw Failure(
          "waiting for \(what)", screen.joined(separator: "\n"), next: "That is what was shown.")
      }
    }
  }

  /// Waits until the screen shows exactly these lines.
  func waitForScreen(_ lines: String) throws {
    let expected = lines.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    try waitFor("\n\(lines)\nbut there is") { $0 == expected }
  }

  /// Waits until a line of the screen begins with this text.
  func waitForLine(_ start: String) throws {
    try waitFor(start) { $0.contains { $0.hasPrefix(start) } }
  }

  /// Durations, which differ between runs, and the spaces before them.
  private static func untimed(_ line: String) -> String {
    // Most lines have no digit, and each of these expressions is compiled for each line.
    guard line.utf8.contains(where: { (0x30...0x39).contains($0) }) else { return line }
    return line.replacing(/\ *\b(\d+\.\ds|\d+[smh]( \d\d[smh])?)( ago| left|$)/) { " TIME\($0.3)" }
      .replacing(/\ *\b\d+\.\ds/, with: " TIME")
  }

  @discardableResult
  private func tmux(_ words: [String]) throws -> String {
    let program = [Bytes("/usr/bin/env"), Bytes("tmux"), Bytes("-S"), socket, Bytes("-f/dev/null")]
    let outcome = try scene.launch(program + words.map { Bytes($0.utf8) }) {
      $0.environment.append(Bytes("LC_ALL=C.UTF-8"))
      $0.environment.append(Bytes("TERM=xterm-256color"))
    }.wait()
    guard outcome.code == 0 else {
      throw Failure("tmux \(words.first ?? "")", outcome.errorText, next: "Is tmux there?")
    }
    return outcome.text
  }
}
