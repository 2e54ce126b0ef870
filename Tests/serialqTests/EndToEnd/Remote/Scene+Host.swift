import Foundation
import SerialqSystem
import TestSupport

extension Scene {
  /// A scene with another machine, whose queues are in the spool of the scene.
  static func withBox(variables: [String] = []) throws -> (Scene, SSHServer) {
    let scene = try Scene()
    let box = try SSHServer(scene)
    try box.setLogin(variables: ["SERIALQ_DIR=\(scene.spool.text)"] + variables)
    return (scene, box)
  }

  /// Runs `serialq --host box` with these arguments to its end.
  func call(_ words: String...) throws -> Outcome {
    try serialq((["--host", "box"] + words).map { Bytes($0.utf8) })
  }

  /// Queues jobs without a runner.
  func add(_ lines: [String]) throws {
    for line in lines { try add(line) }
  }

  private var calls: Bytes { spool.appending(path: Bytes(".calls")) }

  /// Waits until a process there carries out a call and could be returned to.
  func waitForCall() throws {
    try waitForCalls { !$0.isEmpty }
  }

  /// Waits until no process there carries out a call.
  func waitForNoCall() throws {
    try waitForCalls { $0.isEmpty }
  }

  private func waitForCalls(_ condition: ([Bytes]) -> Bool) throws {
    for path in [spool, calls] { _ = try FileSystem.makeFolder(path) }
    try waitUntil("a call", watching: [calls]) { condition(try FileSystem.names(in: calls)) }
  }
}

extension SSHServer {
  /// Kills the processes that carry out calls, and cuts their connections.
  func killServers() throws {
    for pid in try processes() {
      let line = (try? content(Bytes("/proc/\(pid)/cmdline".utf8))) ?? []
      let words = line.split(separator: 0).map { Bytes($0) }
      if words.contains(Bytes("serve-host")) || words.contains(Bytes("host-call")) {
        kill(pid, SIGKILL)
      }
    }
    try cut()
  }
}
