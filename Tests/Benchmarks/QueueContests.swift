import Foundation

/// The cost of a long queue, and the latency of notifications.
final class QueueContests {
  private let serialq: Queuer
  private let waiting: Int
  private var made: LongQueue?

  init(_ serialq: Queuer, waiting: Int) {
    self.serialq = serialq
    self.waiting = waiting
  }

  var all: [Contest] { [oneMore, display, runner, waitReturns] }

  /// A queue with one running job and many waiting ones, created on first use.
  private var long: LongQueue {
    let queue = made ?? LongQueue(serialq, waiting)
    made = queue
    return queue
  }

  func end() { made?.end() }

  private var oneMore: Contest {
    let serialq = serialq
    return Contest(
      title: "one add, by the number of waiting jobs", unit: "call",
      subjects: [
        Subject(name: "none") {
          serialq.behindAJob { ProgramContests.each(20, serialq.call(["add", "true"], in: $0)) }
        },
        Subject(name: "\(waiting)") {
          ProgramContests.each(20, serialq.call(["add", "true"], in: self.long.scratch))
        },
      ], against: "none", targets: [.of("\(waiting)", atMost: 1.2, times: "none")])
  }

  private var display: Contest {
    let serialq = serialq
    let names = [("list", 400e6), ("status", 300e6)]
    return Contest(
      title: "displaying \(waiting) jobs", unit: "call",
      subjects: [Subject(name: "--version") { [self] in look(serialq, ["--version"]) }]
        + names.map { name, _ in Subject(name: name) { [self] in look(serialq, [name]) } },
      against: "list", targets: names.map { .of($0, atMost: $1) })
  }

  private func look(_ serialq: Queuer, _ words: [String]) -> Double {
    ProgramContests.each(1, serialq.call(words, in: long.scratch))
  }

  private var runner: Contest {
    Contest(
      title: "the runner, while \(waiting) jobs wait", unit: "runner", measure: "units",
      subjects: [
        Subject(name: "peak memory, kB") { [self] in long.memory() },
        Subject(name: "processes besides the job's") { [self] in long.processes() },
        Subject(name: "ms of CPU in 2 idle seconds") { [self] in long.idleMilliseconds() },
      ], against: "peak memory, kB",
      targets: [
        .of("peak memory, kB", atMost: 40_960), .of("processes besides the job's", atMost: 1),
        .of("ms of CPU in 2 idle seconds", atMost: 0),
      ], atMost: 3)
  }

  private var waitReturns: Contest {
    let serialq = serialq
    return Contest(
      title: "from the end of a job to the end of its waiter", unit: "job",
      subjects: [
        Subject(name: "its own parent") {
          let scratch = Scratch()
          let gate = Gate(in: scratch)
          guard let cat = Program.find("cat") else { return .nan }
          return Self.notice(gate, Program(cat, [gate.command[1]]))
        },
        Subject(name: "serialq wait") {
          let scratch = Scratch()
          let gate = Gate(in: scratch)
          serialq.call(serialq.add + gate.command, in: scratch).run()
          return Self.notice(gate, serialq.call(serialq.wait, in: scratch))
        },
      ], against: "its own parent",
      targets: [.of("serialq wait", atMost: 1e6, over: "its own parent")])
  }

  /// The time from opening the gate to the end of `waiter`.
  private static func notice(_ gate: Gate, _ waiter: Program) -> Double {
    guard let pid = waiter.start() else { return .nan }
    // Until the waiter blocks, which no event signals.
    usleep(30_000)
    return nanoseconds {
      gate.open()
      precondition(Program.wait(for: pid) == 0)
    }
  }
}

/// A queue with a runner, whose first job runs until the measurement ends.
private struct LongQueue {
  let scratch = Scratch()
  private let serialq: Queuer
  private let gate: Gate

  init(_ serialq: Queuer, _ waiting: Int) {
    self.serialq = serialq
    gate = Gate(in: scratch)
    serialq.call(serialq.add + gate.command, in: scratch).run()
    serialq.fill(waiting, in: scratch)
  }

  func end() {
    serialq.call(["pause"], in: scratch).run()
    gate.open()
    serialq.call(serialq.wait + ["1"], in: scratch).run()
  }

  /// The runner's process ID, from its lock file.
  private var runner: String? {
    let path = scratch.path + "/queues/default/runner.lock"
    let text = try? String(contentsOfFile: path, encoding: .utf8)
    return text.flatMap { $0.split(whereSeparator: \.isWhitespace).first.map(String.init) }
  }

  func memory() -> Double {
    guard let runner,
      let status = try? String(contentsOfFile: "/proc/\(runner)/status", encoding: .utf8),
      let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
    else { return .nan }
    return line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }
      ?? .nan
  }

  /// The number of processes in the runner's session, without the running job.
  func processes() -> Double {
    guard let runner, let all = try? FileManager.default.contentsOfDirectory(atPath: "/proc") else {
      return .nan
    }
    let session = all.filter {
      $0.allSatisfy(\.isNumber) && fields(of: $0)?[3] == Substring(runner)
    }
    return Double(session.count - 1)
  }

  func idleMilliseconds() -> Double {
    guard let runner, let before = ticks(of: runner) else { return .nan }
    sleep(2)
    guard let after = ticks(of: runner) else { return .nan }
    return (after - before) * 1_000 / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  private func ticks(of process: String) -> Double? {
    guard let fields = fields(of: process), let user = Double(fields[11]),
      let system = Double(fields[12])
    else { return nil }
    return user + system
  }

  /// The fields of `/proc/…/stat`, from the state on.
  private func fields(of process: String) -> [Substring]? {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
      let name = text.lastIndex(of: ")")
    else { return nil }
    let fields = text[text.index(after: name)...].split(separator: " ")
    return fields.count > 12 ? fields : nil
  }
}
