import SerialqSystem
import Testing

@testable import SerialqQueue

/// What is read from the file of a launcher.
@Suite struct LauncherReportTests {
  enum Result: Equatable {
    case ended(Ending)
    case lost(Bytes)
  }

  /// What the lines say about the end, and what else.
  private func taken(_ text: String) -> (Result?, Launch) {
    var launch = Launch(command: Bytes("srun"))
    let ending = launch.take(Bytes(text.utf8))
    return (ending.map(Result.ended) ?? launch.lost.map(Result.lost), launch)
  }

  private func result(of text: String) -> Result? { taken(text).0 }

  // Fails if a form is read wrongly, or an invalid one is taken for a result.
  @Test(
    "each form of a result is read, and nothing else",
    arguments: [
      ("exit 0\n", Result.ended(.exited(0))),
      ("exit 255\n", .ended(.exited(255))),
      ("signal TERM\n", .ended(.killed(SIGTERM))),
      ("signal SIGKILL\n", .ended(.killed(SIGKILL))),
      ("signal 9\n", .ended(.killed(9))),
      ("cannot 127 a: not found\n", .ended(.cannotRun(127, reason: Bytes("a: not found".utf8)))),
      (
        "cannot 126\n",
        .ended(.cannotRun(126, reason: Bytes("its launcher gave no reason".utf8)))
      ),
      ("lost the node n1 failed\n", .lost(Bytes("the node n1 failed".utf8))),
      ("lost ssh: closed.\n", .lost(Bytes("ssh: closed"))),
      ("lost\n", .lost(Bytes("its launcher gave no reason".utf8))),
      ("exit 256\n", nil), ("exit -1\n", nil), ("exit\n", nil), ("exit 1 \n", nil),
      ("exit x\n", nil),
      ("signal 0\n", nil), ("signal NONE\n", nil), ("cannot 1 no\n", nil), ("EXIT 0\n", nil),
      ("exited 0\n", nil), (" exit 0\n", nil), ("\n", nil), ("", nil),
    ] as [(String, Result?)])
  func result(text: String, expected: Result?) {
    #expect(result(of: text) == expected)
  }

  // Fails if the part of a line that a killed launcher wrote is taken for `exit 1`.
  @Test("a line without its newline does not count")
  func incomplete() {
    #expect(result(of: "exit 1") == nil)
    #expect(result(of: "job 4\nexit 1") == nil)
    #expect(result(of: "exit 3\nexit 1") == .ended(.exited(3)))
  }

  // Fails if the first result or name counts, a name overrides a result, or a date overflows.
  @Test("the last result counts, wherever the job and the node are named")
  func last() {
    let (result, launch) = taken(
      """
      job 4\nexit 1\nnode n1\nlost it\nstarted 7\njob 5\nexit 2\nnode n2\nstarted 2.000001
      started 253402300800\nstarted -1\nstarted 1e300\nstarted nan\nstarted 1.N\nunknown\n
      """)
    #expect(result == .ended(.exited(2)) && launch.started == Timestamp(microseconds: 2_000_001))
    #expect(launch.job == Bytes("5") && launch.node == Bytes("n2"))
  }

  // Fails if a line of any length becomes a part of the journal.
  @Test("a reason is cut to 1,000 bytes")
  func long() {
    let reason = String(repeating: "x", count: 5_000)
    #expect(result(of: "lost \(reason)\n") == .lost(Bytes(reason.utf8.prefix(1_000))))
  }

  // Fails if an engine's clock that differs makes a duration negative, or longer than the attempt.
  @Test(
    "the wait in the engine, in seconds, is a part of the attempt",
    arguments: [(-9, 0), (4, 4), (99, 10)])
  func wait(begun: Int64, wait: Int64) {
    func after(_ seconds: Int64) -> Timestamp { Timestamp(microseconds: seconds * 1_000_000) }
    let launch = Launch(command: [], started: after(begun))
    let status = JobStatus().started(at: moment(.epoch), hasTerminal: false, launch: launch)?
      .ended(.ended(.exited(0), .itself, duration: 10_000_000_000), at: after(10))
    var job = Job(1, spec())
    job.status = status ?? JobStatus()
    #expect(job.duration == (10 - wait) * 1_000_000_000)
  }

  // Fails if the exit code of a launcher is taken for that of the job.
  @Test("without a result the end is unknown, however the launcher ended")
  func noResult() {
    let launch = Launch(command: Bytes("srun"))
    func end(_ text: String, _ launcher: Ending?) -> (Ending?, String?) {
      let (ending, launch) = launch.end(Bytes(text.utf8), launcher: launcher)
      return (ending, launch.lost?.text)
    }
    #expect(end("", .exited(0)) == (nil, "its launcher exited with code 0 and no result"))
    #expect(end("", .killed(SIGKILL)) == (nil, "its launcher was killed by SIGKILL"))
    #expect(end("lost link\n", .exited(0)) == (nil, "link"))
    #expect(end("", nil) == (nil, nil))
    #expect(end("exit 3\n", .exited(0)) == (.exited(3), nil))
    let failed = Ending.cannotRun(126, reason: Bytes("no folder"))
    #expect(end("", failed) == (failed, nil))
  }
}
