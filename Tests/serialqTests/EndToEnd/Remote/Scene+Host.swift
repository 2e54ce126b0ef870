import Foundation
import SerialqSystem
import TestSupport

// Queues on another machine: the spool of the scene is there, and this machine has another one.
extension Scene {
  /// A scene with another machine, which has these variables after a login.
  static func withBox(variables: [String] = []) throws -> (Scene, SSHServer) {
    let scene = try Scene()
    let box = try SSHServer(scene)
    try box.setLogin(variables: ["SERIALQ_DIR=\(scene.spool.text)"] + variables)
    return (scene, box)
  }

  /// The variable for the spool of this machine.
  var localSpool: Bytes { Bytes("SERIALQ_DIR=") + folder.path("local") }

  /// Starts `serialq --host box` with these arguments.
  func startHost(
    _ words: [Bytes], _ change: (inout LaunchOptions) -> Void = { _ in }
  ) throws -> LaunchedProgram {
    try start([Bytes("--host"), Bytes("box")] + words) { options in
      options.environment.removeAll { $0.starts(with: Bytes("SERIALQ_DIR=")) }
      options.environment.append(localSpool)
      change(&options)
    }
  }

  func startHost(
    _ words: String..., change: (inout LaunchOptions) -> Void = { _ in }
  ) throws -> LaunchedProgram {
    try startHost(words.map { Bytes($0.utf8) }, change)
  }

  /// Starts `serialq --host box` with these arguments; returns when a process there carries it out.
  func startCall(_ words: String...) throws -> LaunchedProgram {
    // Also those of calls that are ending.
    let before = try calls()
    let program = try startHost(words.map { Bytes($0.utf8) })
    try waitForCalls { $0.contains { !before.contains($0) } }
    return program
  }

  /// Runs `serialq --host box` with these arguments to its end.
  func call(_ words: String..., input: Bytes = []) throws -> Outcome {
    try startHost(words.map { Bytes($0.utf8) }) { $0.input = input }.wait()
  }

  /// Waits until no process there carries out a call.
  func waitForNoCall() throws {
    try waitForCalls { $0.isEmpty }
  }

  private var callFolder: Bytes { spool.appending(path: Bytes(".calls")) }

  /// The sockets at which callers can return.
  private func calls() throws -> [Bytes] {
    for path in [spool, callFolder] { _ = try FileSystem.makeFolder(path) }
    return try FileSystem.names(in: callFolder)
  }

  private func waitForCalls(_ condition: ([Bytes]) -> Bool) throws {
    _ = try calls()
    try waitUntil("the calls there", watching: [callFolder]) { condition(try calls()) }
  }
}

extension LaunchedProgram {
  /// Kills the process of ssh that it has started, if there is one.
  func killSSH() throws {
    for other in try FileSystem.names(in: Bytes("/proc")).compactMap({ Int32($0.text) })
    where ProcessStatus.of(other)?.parent == pid { kill(other, SIGKILL) }
  }
}

extension SSHServer {
  /// Kills the processes that carry out calls, and cuts their connections.
  func killServers() throws {
    // In this order: a server that lives on reports that its command was killed.
    for word in ["serve-host", "host-call"].map({ Bytes($0.utf8) }) {
      for pid in try processes() {
        let line = (try? content(Bytes("/proc/\(pid)/cmdline".utf8))) ?? []
        if line.split(separator: 0).contains(where: { Bytes($0) == word }) { kill(pid, SIGKILL) }
      }
    }
    try cut()
  }
}
