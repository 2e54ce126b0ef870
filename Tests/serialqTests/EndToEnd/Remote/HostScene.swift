import SerialqQueue
import SerialqSystem

/// A scene whose queues are on another machine, which `serialq --host box` uses.
///
/// `spool` of the scene is that of the other machine, so the scene's functions inspect it.
final class HostScene {
  let scene: Scene
  let box: SSHServer

  init() throws {
    scene = try Scene()
    box = try SSHServer(scene)
    try box.setLogin(variables: ["SERIALQ_DIR=\(scene.spool.text)"])
  }

  /// The variables of a machine whose spool is another one.
  func setLocalSpool(_ options: inout LaunchOptions) {
    options.environment.removeAll { $0.starts(with: Bytes("SERIALQ_DIR=")) }
    options.environment.append(Bytes("SERIALQ_DIR=") + localSpool)
  }

  /// The spool of the machine that calls.
  var localSpool: Bytes { scene.folder.path("local") }

  /// Starts `serialq --host box` with these arguments.
  func start(
    _ words: [Bytes], _ change: (inout LaunchOptions) -> Void = { _ in }
  ) throws -> LaunchedProgram {
    try scene.start([Bytes("--host"), Bytes("box")] + words) {
      setLocalSpool(&$0)
      change(&$0)
    }
  }

  func start(_ words: String...) throws -> LaunchedProgram {
    try start(words.map { Bytes($0.utf8) })
  }

  /// Runs `serialq --host box` with these arguments to its end.
  func serialq(_ words: String..., input: Bytes = []) throws -> Outcome {
    try start(words.map { Bytes($0.utf8) }) { $0.input = input }.wait()
  }

  /// Starts `serialq --host box` with these arguments; returns when the other machine has the call.
  func startCall(_ words: String...) throws -> LaunchedProgram {
    let before = try calls()
    let program = try start(words.map { Bytes($0.utf8) })
    try waitForCalls("the call") { $0.count > before.count }
    return program
  }

  /// The calls that the machine carries out: the names of their sockets.
  func calls() throws -> [Bytes] {
    guard try FileSystem.status(of: callFolder) != nil else { return [] }
    return try FileSystem.names(in: callFolder)
  }

  func waitForCalls(_ what: String, _ condition: ([Bytes]) -> Bool) throws {
    _ = try FileSystem.makeFolder(scene.spool)
    _ = try FileSystem.makeFolder(callFolder)
    try waitUntil(what, watching: [callFolder]) { condition(try calls()) }
  }

  private var callFolder: Bytes { scene.spool.appending(path: Bytes(".calls")) }
}
