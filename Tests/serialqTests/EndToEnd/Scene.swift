import Foundation
@testable import SerialqQueue
import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// A separate spool, a working folder, and the program under test; all deleted with the last
/// reference, running jobs killed.
final class Scene {
  let folder: TemporaryFolder
  /// The working folder of the program and its jobs.
  let work: Bytes
  let spool: Bytes
  /// Jobs and scripts find `serialq` here.
  let programs: Bytes
  private let files: Bytes
  private var numbers = 0

  init() throws {
    folder = try TemporaryFolder()
    work = folder.path("work")
    spool = folder.path("spool")
    programs = folder.path("bin")
    files = folder.path("files")
    for path in [work, programs, files] { _ = try FileSystem.makeFolder(path) }
    try link(Scene.program)
  }

  /// Makes this program the command `serialq` of the scene.
  func link(_ program: Bytes?) throws {
    let program = try #require(
      program, "no binary beside the tests: build serialq, or set SERIALQ_BINARY")
    let link = programs.appending(path: Bytes("serialq"))
    try FileSystem.remove(link)
    try #require(program.withCString { to in link.withCString { symlink(to, $0) } } == 0)
  }

  deinit {
    expectNoReport()
    for name in (try? Spool(path: spool).queueNames()) ?? [] {
      guard let queue = try? queue(name), let folder = try? queueFolder(name) else { continue }
      // First, or it would start the next job.
      if let runner = (try? runner(in: name)) ?? nil { _ = kill(runner, SIGKILL) }
      for job in queue.running.compactMap(queue.job) {
        // Without the lock it has ended, and its id may be reused.
        guard let pid = job.running?.pid, (try? JobLock.isHeld(job.id, folder)) == true else {
          continue
        }
        _ = kill(-pid, SIGKILL)
      }
    }
  }

  /// The program under test: SERIALQ_BINARY, else the one that was built with the tests.
  private static let program: Bytes? = {
    if let given = ProcessInfo.processInfo.environment["SERIALQ_BINARY"], !given.isEmpty {
      return Bytes(URL(fileURLWithPath: given).path.utf8)
    }
    return builtProgram
  }()

  /// The program that was built with the tests.
  static let builtProgram: Bytes? = {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
    let products = bundle?.bundleURL.deletingLastPathComponent() ?? Bundle.main.bundleURL
    let path = products.appendingPathComponent("serialq").path
    return FileManager.default.isExecutableFile(atPath: path) ? Bytes(path.utf8) : nil
  }()

  // MARK: Starting programs

  /// Minimal, and always the same.
  var launchOptions: LaunchOptions {
    LaunchOptions(
      environment: [
        Bytes("PATH=") + programs + Bytes((":" + Tool.folders.joined(separator: ":")).utf8),
        Bytes("HOME=") + work, Bytes("SERIALQ_DIR=") + spool,
      ] + Self.sanitizerOptions, directory: work)
  }

  /// Starts `serialq` with these arguments and returns.
  func start(
    _ words: [Bytes], _ change: (inout LaunchOptions) -> Void = { _ in }
  ) throws -> LaunchedProgram {
    try launch([programs.appending(path: Bytes("serialq"))] + words, change)
  }

  func start(
    _ words: [String], _ change: (inout LaunchOptions) -> Void = { _ in }
  ) throws -> LaunchedProgram {
    try start(words.map { Bytes($0.utf8) }, change)
  }

  func start(
    _ words: String..., change: (inout LaunchOptions) -> Void = { _ in }
  ) throws -> LaunchedProgram {
    try start(words, change)
  }

  /// Runs `serialq` with these arguments to its end.
  func serialq(_ words: [Bytes], _ change: (inout LaunchOptions) -> Void = { _ in }) throws
    -> Outcome
  {
    try start(words, change).wait()
  }

  func serialq(_ words: [String], _ change: (inout LaunchOptions) -> Void = { _ in }) throws
    -> Outcome
  {
    try start(words, change).wait()
  }

  func serialq(
    _ words: String..., change: (inout LaunchOptions) -> Void = { _ in }
  ) throws -> Outcome {
    try serialq(words, change)
  }

  /// Runs a script to its end; `serialq` is a command in it.
  func script(_ text: String, in shell: String = "/bin/sh") throws -> Outcome {
    try launch([shell, "-c", text]).wait()
  }

  /// The process of the present runner.
  func runner(in queue: String = "default") throws -> Int32? {
    let folder = try queueFolder(queue)
    guard try RunnerLock.isHeld(folder) else { return nil }
    return try Int32(content(folder.runnerLock).text.prefix { $0.isNumber })
  }

  /// Waits for a runner; returns its process.
  func waitForRunner(in queue: String = "default") throws -> Int32 {
    let folder = try queueFolder(queue)
    // Kept from the wait: a second read could find the file partially written by the next runner.
    var found: Int32?
    try waitUntil("a runner", watching: [folder.path]) {
      found = try runner(in: queue)
      return found != nil
    }
    return try #require(found)
  }

  /// Queues jobs without a runner, and expects no error output.
  func add(_ lines: String...) throws {
    let outcome = try serialq("add", "--no-start", "-f", "-") {
      $0.input = Bytes(lines.map { "\($0)\n" }.joined().utf8)
    }
    #expect(outcome.code == 0 && outcome.errors.isEmpty, "\(outcome.errorText)")
  }

  /// Adds job 1 with these words, and waits until it has printed this.
  func addRunning(_ words: String..., until text: String) throws {
    #expect(try serialq(["add"] + words).code == 0)
    try waitForLog(1, text)
  }

  /// Edits job 1 with this editor.
  func edit(_ editor: String) throws -> Outcome {
    try serialq("edit", "1") { $0.environment.append(Bytes("EDITOR=\(editor)".utf8)) }
  }

  /// A number that nothing else in the scene has.
  func nextNumber() -> Int {
    numbers += 1
    return numbers
  }

  func launch(
    _ words: [Bytes], _ change: (inout LaunchOptions) -> Void = { _ in }
  ) throws -> LaunchedProgram {
    let number = nextNumber()
    var launchOptions = launchOptions
    change(&launchOptions)
    return try LaunchedProgram(words, launchOptions, files: files, number: number)
  }

  func launch(
    _ words: [String], _ change: (inout LaunchOptions) -> Void = { _ in }
  ) throws -> LaunchedProgram {
    try launch(words.map { Bytes($0.utf8) }, change)
  }

  // MARK: Inspecting

  func path(_ name: String) -> Bytes { work.appending(path: Bytes(name.utf8)) }

  /// The names in the working folder, without the gate of a suite.
  func fileNames() throws -> Set<String> {
    Set(try FileSystem.names(in: work).map(\.text)).subtracting(["gate"])
  }

  func queueFolder(_ name: String = "default") throws -> QueueFolder {
    try Spool(path: spool).folder(named: name)
  }

  /// The queue in its journal.
  func queue(_ name: String = "default") throws -> Queue {
    var reader = JournalReader(try queueFolder(name))
    try reader.read()
    return reader.queue
  }

  /// Writes what happens to the journal, without a runner.
  func write(_ acts: Act...) throws {
    var queue = try queue()
    try Journal(queueFolder()).append(queue.perform(acts))
  }

  func states(_ name: String = "default") throws -> [JobState] {
    try queue(name).jobs.map(\.state)
  }

  func log(_ id: JobID, in queue: String = "default") throws -> Bytes {
    try content(queueFolder(queue).log(id))
  }

  /// The bytes of the journal; empty if there is none.
  func journal(_ name: String = "default") throws -> Bytes {
    try FileDescriptor.openIfThere(
      try queueFolder(name).journal, .read, followingLinks: true)?.readAll() ?? []
  }

  /// Waits until a job, which has been added, satisfies `condition`.
  func waitForJob(
    _ id: JobID, in queue: String = "default", _ condition: (Job) -> Bool
  ) throws {
    try waitUntil("job \(id) of \(queue)", watching: [queueFolder(queue).path]) {
      try self.queue(queue).job(id).map(condition) ?? false
    }
  }

  func waitForJob(_ id: JobID, in queue: String = "default", _ state: JobState) throws {
    try waitForJob(id, in: queue) { $0.state == state }
  }

  /// Waits until the process of a job is recorded; returns its id.
  ///
  /// The job may print something before: its runner records the process after its start.
  func waitForProcess(of id: JobID, in queue: String = "default") throws -> Int32 {
    try waitForJob(id, in: queue) { $0.running?.pid != nil || $0.state.isOver }
    return try #require(try self.queue(queue).job(id)?.running?.pid)
  }

  /// Starts a runner, and kills it when job 1 runs and has printed this: the job is an orphan.
  ///
  /// Returns its process.
  @discardableResult
  func orphanJob(printing text: String? = nil) throws -> Int32 {
    let runner = try start("run")
    let job = try waitForProcess(of: 1)
    if let text { try runner.waitForOutput(text) }
    runner.send(SIGKILL)
    _ = try runner.wait()
    return job
  }

  /// Waits until a job has printed this.
  func waitForLog(_ id: JobID, in queue: String = "default", _ text: String) throws {
    let folder = try queueFolder(queue)
    try waitUntil("\(text) in log \(id) of \(queue)", watching: [folder.logs]) {
      let log = try FileDescriptor.openIfThere(folder.log(id), .read)?.readAll()
      return log?.text.contains(text) ?? false
    }
  }

  /// Waits until the file of this name in the working folder contains `text`.
  func waitForFile(_ name: String, _ text: String) throws {
    try waitUntil("\(text) in \(name)", watching: [work]) {
      try FileDescriptor.openIfThere(path(name), .read, followingLinks: true)?.readAll().text
        .contains(text) ?? false
    }
  }

  /// The jobs in the output of `list --json`.
  func listed(_ options: [String] = []) throws -> [[String: Any]] {
    let outcome = try serialq(["list", "--json"] + options)
    let object = try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [String: Any]
    return try #require(object?["jobs"] as? [[String: Any]])
  }

  /// The commands in the output of `list`.
  func listedCommands() throws -> [String] {
    let table = try serialq("list").text.split(separator: "\n")
    let head = try #require(table.first)
    let heading = try #require(head.range(of: "COMMAND"))
    let column = head.distance(from: head.startIndex, to: heading.lowerBound)
    return table.dropFirst().map { String($0.dropFirst(column)) }
  }

  /// The bytes of a text in JSON: U+F780…U+F7FF encode the bytes 0x80…0xFF, everything else itself.
  static func bytes(ofJSON text: String) -> Bytes {
    text.unicodeScalars.flatMap { scalar -> Bytes in
      (0xF780...0xF7FF).contains(scalar.value)
        ? [UInt8(scalar.value - 0xF700)] : Bytes(String(scalar).utf8)
    }
  }
}

/// A suite in which every test has its own scene, and a gate in it.
class SceneSuite {
  let scene: Scene
  let gate: Gate

  init() throws {
    scene = try Scene()
    gate = try Gate(scene)
  }
}

/// A FIFO at which jobs block: each `read x <NAME` takes one line.
final class Gate {
  private let file: FileDescriptor

  /// Creates the FIFO, and keeps it open for reading and writing, so that an open never blocks.
  init(_ scene: Scene, _ name: String = "gate") throws {
    let path = scene.path(name)
    try #require(path.withCString { mkfifo($0, 0o600) } == 0)
    file = try FileDescriptor.open(path, .readWrite, followingLinks: true)
  }

  /// Unblocks one job.
  func open() throws(Failure) { try file.writeAll(Bytes("go\n")) }
}

/// One message of the form `serialq: what: why`, a line with the next step, and nothing else.
func expectRefusal(
  _ outcome: Outcome, _ message: String, sourceLocation: SourceLocation = #_sourceLocation
) {
  let lines = outcome.errorText.split(separator: "\n", omittingEmptySubsequences: false)
  #expect(outcome.code == 125, "\(outcome.errorText)", sourceLocation: sourceLocation)
  #expect(outcome.output.isEmpty, sourceLocation: sourceLocation)
  #expect(
    outcome.errorText.hasPrefix("serialq: \(message)"), "\(outcome.errorText)",
    sourceLocation: sourceLocation)
  #expect(
    lines.count == 3 && lines[1] != "" && lines[2] == "", "\(outcome.errorText)",
    sourceLocation: sourceLocation)
}
