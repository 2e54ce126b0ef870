import Foundation

/// A program that queues commands, and how it is told to.
struct Queuer: Sendable {
  let name: String
  let path: String
  /// What keeps its queue in a folder.
  let environment: @Sendable (Scratch) -> [String: String]
  /// The arguments before a command, and what waits until all is done.
  let add: [String]
  let wait: [String]
  /// What takes away what it leaves running.
  var end: [String]?
  /// How many jobs may wait: beyond, it is not measured.
  var most = Int.max

  /// The program built as the README says, or the one that SERIALQ_BINARY names.
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

  // A process waits for each waiting job, and each looks at all before it.
  static let nq = Program.find("nq").map {
    Queuer(
      name: "nq", path: $0, environment: { ["NQDIR": $0.path] }, add: ["-q"], wait: ["-w"],
      most: 1_000)
  }

  // Its server keeps a connection for each; the 994th add waits for ever.
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

  /// What `work` measures while a job runs and others wait behind it.
  ///
  /// Nothing that waits runs while it is measured; afterwards it does, or is thrown away.
  func behindAJob(
    waiting count: Int = 0, discards: Bool = false, _ work: (Scratch) -> Double
  ) -> Double {
    let scratch = Scratch()
    defer { scratch.remove() }
    let gate = Gate(in: scratch)
    // The first makes the folders, and starts what is at work in the background.
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
  /// Writes a file of so many jobs that do nothing.
  static func lines(_ count: Int, to file: String) {
    try? String(repeating: "true\n", count: count).write(
      toFile: file, atomically: true, encoding: .utf8)
  }
}
