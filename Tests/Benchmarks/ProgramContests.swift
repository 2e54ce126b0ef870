import Foundation

/// Typical uses of the program, compared with other programs.
struct ProgramContests {
  let serialq: Queuer
  let jobs: Int

  var all: [Contest] { [oneAdd, manyJobs] }

  // MARK: One add

  private var oneAdd: Contest {
    let calls = 20
    var subjects = [
      Subject(name: "/bin/true") { Self.each(calls, Program("/bin/true")) },
      Subject(name: "/bin/true, and a flushed line") {
        let journal = Journal()
        defer { journal.end() }
        let program = Program("/bin/true")
        return nanoseconds {
          for _ in 0..<calls {
            program.run()
            journal.append(flush: true)
          }
        } / Double(calls)
      },
    ]
    for queuer in Queuer.all {
      subjects.append(
        Subject(name: queuer.name) {
          queuer.behindAJob {
            Self.each(calls, queuer.call(queuer.add + ["true"], in: $0))
          }
        })
    }
    return Contest(
      title: "one call that adds a job", unit: "call", subjects: subjects, against: "nq",
      targets: [
        .of("serialq", atMost: 1, times: "nq"), .of("serialq", atMost: 1, times: "tsp"),
      ])
  }

  static func each(_ calls: Int, _ program: Program) -> Double {
    nanoseconds { for _ in 0..<calls { precondition(program.run() == 0) } } / Double(calls)
  }

  // MARK: Many jobs

  private var manyJobs: Contest {
    let (count, serialq) = (jobs, serialq)
    let loop = "while read -r l; do sh -c \"$l\"; done"
    var subjects = [
      Subject(name: "shell loop") {
        Self.timed(count) { Program("/bin/sh", ["-c", loop], input: $1).run() }
      },
      Subject(name: "spawned, logged, flushed") { Self.leastDurable(count) },
      Subject(name: "serialq run -f") {
        Self.timed(count) { serialq.call(["run", "-f", $1], in: $0).run() }
      },
    ]
    for queuer in Queuer.all {
      subjects.append(
        Subject(name: "\(queuer.name), each added") {
          Self.timed(count) { scratch, _ in
            let add = queuer.call(queuer.add + ["true"], in: scratch)
            for _ in 0..<count { add.run() }
            let code = queuer.call(queuer.wait, in: scratch).run()
            if let end = queuer.end { queuer.call(end, in: scratch).run() }
            return code
          }
        })
    }
    if let parallel = Program.find("parallel") {
      subjects.append(
        Subject(name: "parallel -j1") {
          Self.timed(count) { Program(parallel, ["-j1", "--will-cite"], input: $1).run() }
        })
    }
    return Contest(
      title: "\(count) empty jobs, run one at a time", unit: "job",
      subjects: subjects, against: "spawned, logged, flushed",
      targets: [
        .of("serialq run -f", atMost: 1.05, times: "spawned, logged, flushed"),
        .of("serialq, each added", atMost: 1.15, times: "spawned, logged, flushed"),
        .of("serialq run -f", atMost: 2e6, over: "shell loop"),
      ], atMost: 7,
      picture: Contest.Picture(
        name: "jobs", title: "The cost of an empty job, one of \(count) that run in order",
        floor: "spawned, logged, flushed", floorLabel: "a process, a log and a flushed line",
        label: Self.label, isOwn: { $0.hasPrefix("serialq") }))
  }

  /// With the command as code.
  private static func label(_ name: String) -> String {
    name == "shell loop" ? name : name.replacing(/^[^,]*/) { "`\($0.output)`" }
  }

  private static func timed(_ count: Int, _ work: (Scratch, _ file: String) -> Int32) -> Double {
    let scratch = Scratch()
    let file = scratch.path + "/lines"
    Scratch.lines(count, to: file)
    return nanoseconds { precondition(work(scratch, file) == 0) } / Double(count)
  }

  /// The minimum I/O of any crash-safe queue that keeps the output of its jobs: a log for each job,
  /// a flushed line before it starts, and a line when it has ended.
  private static func leastDurable(_ count: Int) -> Double {
    let journal = Journal()
    defer { journal.end() }
    let jobs = (0..<count).map {
      Program("/bin/sh", ["-c", "true"], output: "\(journal.scratch.path)/\($0)")
    }
    return nanoseconds {
      for job in jobs {
        journal.append(flush: true)
        job.run()
        journal.append(flush: false)
      }
    } / Double(count)
  }
}

/// A file for appending lines.
private struct Journal {
  let scratch = Scratch()
  private let descriptor: Int32
  private let line = [UInt8](repeating: UInt8(ascii: "x"), count: 170)

  init() {
    descriptor = open(scratch.path + "/journal", O_WRONLY | O_CREAT | O_APPEND, 0o600)
  }

  func append(flush: Bool) {
    precondition(write(descriptor, line, line.count) == line.count)
    // Like the program. Sufficient for a file whose only metadata change is its size.
    #if canImport(Glibc)
      if flush { precondition(fdatasync(descriptor) == 0) }
    #else
      if flush { precondition(fsync(descriptor) == 0) }
    #endif
  }

  func end() { close(descriptor) }
}
