import Foundation
import SerialqSystem
import TestSupport
import Testing

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

  /// Runs `serialq --host box` with these arguments to its end.
  func call(_ words: String..., input: Bytes = []) throws -> Outcome {
    try startHost(words.map { Bytes($0.utf8) }) { $0.input = input }.wait()
  }

  /// Waits until so many processes there carry out calls.
  func waitForCalls(_ count: Int) throws {
    // There is no event for the start of a process.
    for _ in 1...3_000 {
      if calls.count == count { return }
      usleep(10_000)
    }
    Issue.record("\(calls.count) calls, not \(count)")
  }

  private var calls: [Int32] {
    let all = ((try? FileSystem.names(in: Bytes("/proc"))) ?? []).compactMap { Int32($0.text) }
    let mark = Bytes("SERIALQ_DIR=") + spool
    return all.filter { pid in
      let words = (try? content(Bytes("/proc/\(pid)/cmdline".utf8)))?.split(separator: 0) ?? []
      guard words.count == 3, Bytes(words[1]) == HostCall.name else { return false }
      let variables = (try? content(Bytes("/proc/\(pid)/environ".utf8)))?.split(separator: 0) ?? []
      return variables.contains { Bytes($0) == mark }
    }
  }
}

extension LaunchedProgram {
  /// Kills the process of ssh that it has started, if there is one.
  func killSSH() throws {
    for other in try FileSystem.names(in: Bytes("/proc")).compactMap({ Int32($0.text) })
    where ProcessStatus.of(other)?.parent == pid { kill(other, SIGKILL) }
  }
}
