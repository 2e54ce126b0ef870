import Foundation

/// A program that queues commands, and its command line.
struct Queuer: Sendable {
  let name: String
  let path: String
  /// The environment that makes it store its queue in a folder.
  let environment: @Sendable (Scratch) -> [String: String]
  /// The arguments before a command, and those that wait until all jobs have ended.
  let add: [String]
  let wait: [String]
  /// The arguments that end its background processes.
  var end: [String]?
  /// The maximum number of waiting jobs that is measured.
  var most = Int.max

  /// The program built as in the README, or the one at SERIALQ_BINARY.
  static let serialq: Queuer? = {
    let beside = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    let path =
      ProcessInfo.processInfo.environment["SERIALQ_BINARY"]
      ?? beside.appendingPathComponent("serialq").path
    guard access(path, X_OK) == 0 else { return nil }
    return Queuer(
      name: "serialq", path: path, environment: { ["SERIALQ_DIR": $0.path + "/queues"] },
      add: ["add"], wait: ["wait"])
  }()

  // Each waiting job has a process, and each process checks all earlier jobs.
  static let nq = Program.find("nq").map {
    Queuer(
      name: "nq", path: $0, environment: { ["NQDIR": $0.path] }, add: ["-q"], wait: ["-w"],
      most: 1_000)
  }

  // Its server keeps a connection for each job; the 994th add hangs.
  static let tsp = Program.find("tsp").map {
    Queuer(
      name: "tsp", path: $0,
      environment: { ["TS_SOCKET": $0.path + "/socket", "TMPDIR": $0.path] }, add: [],
      wait: ["-w"], end: ["-K"], most: 900)
  }

  static var all: [Queuer] { [serialq, nq, tsp].compactMap { $0 } }

  static var missing: [String] {
    (serialq == nil ? ["serialq: not built, or not named by SERIALQ_BINARY"] : [])
      + [("nq", nq), ("tsp", tsp)].filter { $1 == nil }.map { "\($0.0): not installed" }
  }

  func call(_ arguments: [String], in scratch: Scratch, output: String = "/dev/null") -> Program {
    Program(path, arguments, environment: environment(scratch), output: output)
  }

  /// The result of `work` while a job runs and others wait behind it.
  ///
  /// No waiting job runs during the measurement. Afterwards the jobs run, or are discarded.
  func behindAJob(
    waiting count: Int = 0, discards: Bool = false, _ work: (Scratch) -> Double
  ) -> Double {
    let scratch = Scratch()
    let gate = Gate(in: scratch)
    // The first call creates the folders, and starts the background process.
    call(add + gate.command, in: scratch).run()
    fill(count, in: scratch)
    let value = work(scratch)
    let discards = discards && name == "serialq"
    if discards { call(["pause"], in: scratch).run() }
    gate.open()
    call(discards ? wait + ["1"] : wait, in: scratch).run()
    if let end { call(end, in: scratch).run() }
    return value
  }

  func fill(_ count: Int, in scratch: Scratch) {
    guard name == "serialq" else {
      let one = call(add + ["true"], in: scratch)
      for _ in 0..<count { one.run() }
      return
    }
    let file = scratch.path + "/lines"
    Scratch.lines(count, to: file)
    if count > 0 { precondition(call(["add", "-f", file], in: scratch).run() == 0) }
  }
}

extension Scratch {
  /// Writes a file with this many empty jobs.
  static func lines(_ count: Int, to file: String) {
    try? String(repeating: "true\n", count: count).write(
      toFile: file, atomically: true, encoding: .utf8)
  }
}
