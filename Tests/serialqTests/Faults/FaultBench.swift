import Foundation
@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// A fault injected into one system call of the program.
struct Fault: CustomStringConvertible {
  /// Numbered as in `faults.c`: an error number, or one of these.
  struct Kind: Hashable {
    var number: Int
    /// The process dies before the call.
    static let kill = Kind(number: -1)
    /// The process dies after half of a write.
    static let torn = Kind(number: -2)
    /// Half of a read or write is done.
    static let short = Kind(number: -3)
    static let interrupted = Kind(number: Int(EINTR))

    /// Whether the fault ends the process.
    var isDeadly: Bool { self == .kill || self == .torn }

    /// Whether the program has to continue as if nothing had happened.
    var isHarmless: Bool { self == .short || self == .interrupted }
  }

  /// The number of the call, counted from 1.
  var at: Int
  var kind: Kind
  /// Whether every later call that can fail like this also does, as on a disk that stays full.
  var stays = false

  /// The variables that the library reads.
  var variables: [Bytes] {
    let name =
      switch kind {
      case .kill: "kill"
      case .torn: "torn"
      case .short: "short"
      default: "\(kind.number)"
      }
    return [Bytes("FAULT_AT=\(at)".utf8), Bytes("FAULT_KIND=\(name)".utf8)]
      + (stays ? [Bytes("FAULT_STAYS=1")] : [])
  }

  var description: String {
    let what = variables[1].text.dropFirst("FAULT_KIND=".count)
    return "call \(at): \(what)\(stays ? " from there on" : "")"
  }
}

/// A system call that the program made, and the ways in which it can fail.
struct NotedCall {
  var number: Int
  var name: String
  var kinds: [Fault.Kind]
}

extension [NotedCall] {
  /// Tries every fault; in a short run every `step`-th, beginning with `first`.
  ///
  /// The text names the fault and its call.
  func tryFaults(every step: Int, from first: Int, _ body: (Fault, String) throws -> Void) throws {
    #expect(count > 10)
    let tried = faults.enumerated().filter { isLong || $0.offset % (step * ease) == first }
    for (_, fault) in tried { try body(fault, "\(fault) (\(self[fault.at - 1].name))") }
    #expect(!tried.isEmpty)
    tally(tried.count)
  }

  /// Every fault at every call, and the persistent ones, such as a full disk.
  var faults: [Fault] {
    let staying = [ENOSPC, EMFILE, EACCES].map { Fault.Kind(number: Int($0)) }
    return flatMap { call in
      let once = ([Fault.Kind.kill] + call.kinds).map { Fault(at: call.number, kind: $0) }
      let lasting = call.kinds.filter(staying.contains)
      return once + lasting.map { Fault(at: call.number, kind: $0, stays: true) }
    }
  }
}

/// A scene whose program runs with the library of `faults.c` preloaded.
final class FaultBench {
  private static let built = Result {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let source = folder.appendingPathComponent("faults.c")
    return try PreloadedLibrary("faults", String(contentsOf: source, encoding: .utf8))
  }

  let scene: Scene
  private let preload: Bytes
  let log: Bytes

  init() throws {
    scene = try Scene()
    preload = try Self.built.get().variable(in: scene)
    log = scene.folder.path("faults.log")
  }

  /// Whether the library can be built, and loaded into the tested program.
  static let isPossible: Bool = {
    guard let bench = try? FaultBench(), (try? bench.run(["--version"])) != nil else {
      return false
    }
    return (try? bench.calls().isEmpty) == false
  }()

  /// Runs `serialq` to its end, and logs its calls.
  @discardableResult
  func run(
    _ words: [String], input: String = "", variables: [String] = [], fault: Fault? = nil
  ) throws -> Outcome {
    try scene.serialq(words.map { Bytes($0.utf8) }) {
      $0.input = Bytes(input.utf8)
      $0.environment += variables.map { Bytes($0.utf8) }
      $0.environment += self.variables(for: fault)
    }
  }

  /// The environment of a program that logs its calls and has this fault.
  func variables(for fault: Fault?) -> [Bytes] {
    [preload, Bytes("FAULT_LOG=") + log] + (fault?.variables ?? [])
  }

  /// The calls logged since the last call of this method, with the fault if it was injected.
  func calls() throws -> [NotedCall] {
    try takeLog().compactMap { line in
      let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
      guard parts.count == 4, parts[0] == "call", let number = Int(parts[1]) else { return nil }
      let kinds = parts[3].split(separator: " ").compactMap { Int($0) }
      return NotedCall(
        number: number, name: String(parts[2]), kinds: kinds.map { Fault.Kind(number: $0) })
    }
  }

  /// Returns the lines of the log, and clears it.
  func takeLog() throws -> [Substring] {
    let text = try FileDescriptor.openIfThere(log, .read)?.readAll().text ?? ""
    try FileSystem.remove(log)
    return text.split(separator: "\n")
  }

  // MARK: Resetting between runs

  private var template: Bytes { scene.folder.path("template") }

  /// Saves the spool in its present state, for ``restore()``.
  func keep() throws {
    TemporaryFolder.remove(template)
    try copy(scene.spool, to: template)
  }

  func restore() throws {
    TemporaryFolder.remove(scene.spool)
    try copy(template, to: scene.spool)
  }

  private func copy(_ path: Bytes, to target: Bytes) throws {
    switch try FileSystem.status(of: path)?.kind {
    case .folder:
      _ = try FileSystem.makeFolder(target)
      for name in try FileSystem.names(in: path) {
        try copy(path.appending(path: name), to: target.appending(path: name))
      }
    case .file: try write(content(path), to: target)
    default: break
    }
  }
}

extension Queue {
  /// All observable state of the queue except times, which differ between runs.
  var gist: [String] {
    let jobs = inOrder.map { job in
      """
      \(job.id) \(job.state) \(job.command) \(job.context.directory.text) \(job.context.environment.text) \
      \(job.label?.text ?? "") \(job.input.map { "\($0)" } ?? "") \
      \(job.terminal?.text ?? "") \(job.limits) \(job.isAcknowledged) \(job.attempts)
      """
    }
    let settings =
      """
      \(settings.stopsOnFailure) \(settings.keep ?? -1) \(settings.onFinish?.line ?? []) \
      \(settings.onIdle?.line ?? []) \(settings.shell ?? []) \(settings.logLimit ?? 0) \
      \(settings.onAsk?.line ?? []) \(settings.terminal) \
      \(settings.launcher ?? [])
      """
    return jobs + ["next \(nextID)", "paused \(isPaused)", settings]
  }
}

extension Trait where Self == ConditionTrait {
  /// For tests that inject faults into the program's calls.
  static var ifFaultsCanBeMade: Self {
    .enabled(if: FaultBench.isPossible, "needs LD_PRELOAD, which this system does not have")
  }
}
