import Foundation

/// All rows of the program; peers that are not installed are left out and named.
struct ProgramContests {
  let serialq: String
  let jobs: Int

  /// The program built as the README says, or the one that SERIALQ_BINARY names.
  init?(jobs: Int) {
    let beside = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    let path =
      ProcessInfo.processInfo.environment["SERIALQ_BINARY"]
      ?? beside.appendingPathComponent("serialq").path
    guard access(path, X_OK) == 0 else { return nil }
    serialq = path
    self.jobs = jobs
  }

  var all: [Contest] { [oneAdd, manyJobs] }

  /// The peers that are not there.
  static var missing: [String] { ["nq", "tsp"].filter { Program.find($0) == nil } }

  // MARK: One add

  private var oneAdd: Contest {
    let calls = 20
    var subjects = [
      Subject(name: "/bin/true") { Self.each(calls, Program(path: "/bin/true", arguments: [])) }
    ]
    subjects.append(
      Subject(name: "serialq add") {
        let scratch = Scratch()
        defer { scratch.remove() }
        let environment = ["SERIALQ_DIR": scratch.path]
        let gate = scratch.path + "/gate"
        mkfifo(gate, 0o600)
        // The first makes the folders, and starts the runner.
        Program(path: serialq, arguments: ["add", "cat", gate], environment: environment).run()
        let time = Self.each(
          calls, Program(path: serialq, arguments: ["add", "true"], environment: environment))
        Self.open(gate)
        Program(path: serialq, arguments: ["wait"], environment: environment).run()
        return time
      })
    if let nq = Program.find("nq") {
      subjects.append(Subject(name: "nq") { Self.nq(nq, calls) })
    }
    if let tsp = Program.find("tsp") {
      subjects.append(Subject(name: "tsp") { Self.tsp(tsp, calls) })
    }
    return Contest(
      title: "one call that queues a job", unit: "call", subjects: subjects, against: "nq")
  }

  private static func each(_ calls: Int, _ program: Program) -> Double {
    nanoseconds { for _ in 0..<calls { precondition(program.run() == 0) } } / Double(calls)
  }

  /// Behind a job that blocks, so that only the queueing is measured.
  private static func nq(_ path: String, _ calls: Int) -> Double {
    let scratch = Scratch()
    defer { scratch.remove() }
    let environment = ["NQDIR": scratch.path]
    let gate = scratch.path + "/gate"
    mkfifo(gate, 0o600)
    Program(path: path, arguments: ["-q", "cat", gate], environment: environment).run()
    let time = each(
      calls, Program(path: path, arguments: ["-q", "true"], environment: environment))
    open(gate)
    Program(path: path, arguments: ["-w"], environment: environment).run()
    return time
  }

  private static func tsp(_ path: String, _ calls: Int) -> Double {
    let scratch = Scratch()
    defer { scratch.remove() }
    let environment = ["TS_SOCKET": scratch.path + "/socket", "TMPDIR": scratch.path]
    let gate = scratch.path + "/gate"
    mkfifo(gate, 0o600)
    Program(path: path, arguments: ["cat", gate], environment: environment).run()
    let time = each(calls, Program(path: path, arguments: ["true"], environment: environment))
    open(gate)
    Program(path: path, arguments: ["-w"], environment: environment).run()
    Program(path: path, arguments: ["-K"], environment: environment).run()
    return time
  }

  /// Lets whoever reads the fifo go on: opening waits for the reader.
  private static func open(_ gate: String) {
    let descriptor = Foundation.open(gate, O_WRONLY)
    close(descriptor)
  }

  // MARK: Many jobs

  private var manyJobs: Contest {
    let (count, serialq) = (jobs, serialq)
    return Contest(
      title: "\(count) jobs that do nothing, run one after another", unit: "job",
      subjects: [
        Subject(name: "shell loop") {
          Self.withLines(count) { file, _ in
            let loop = "while read -r l; do sh -c \"$l\"; done"
            return Program(path: "/bin/sh", arguments: ["-c", loop], input: file).run()
          }
        },
        Subject(name: "serialq run -f") {
          Self.withLines(count) { file, environment in
            Program(path: serialq, arguments: ["run", "-f", file], environment: environment).run()
          }
        },
        Subject(name: "serialq add each, wait") {
          Self.withLines(count) { _, environment in
            let add = Program(path: serialq, arguments: ["add", "true"], environment: environment)
            for _ in 0..<count { add.run() }
            return Program(path: serialq, arguments: ["wait"], environment: environment).run()
          }
        },
      ], against: "shell loop")
  }

  private static func withLines(
    _ count: Int, _ work: (_ file: String, _ environment: [String: String]) -> Int32
  ) -> Double {
    let scratch = Scratch()
    defer { scratch.remove() }
    let file = scratch.path + "/lines"
    try? String(repeating: "true\n", count: count).write(
      toFile: file, atomically: true, encoding: .utf8)
    let environment = ["SERIALQ_DIR": scratch.path + "/queue"]
    return nanoseconds { precondition(work(file, environment) == 0) } / Double(count)
  }
}
