import SerialqSystem
import Testing

@testable import SerialqQueue

/// What is read from the file of a launcher.
@Suite struct LauncherReportTests {
  private func report(_ text: String) -> LauncherReport { LauncherReport(Bytes(text.utf8)) }

  // Fails if a form is read wrongly, or an invalid one is taken for a result.
  @Test(
    "each form of a result is read, and nothing else",
    arguments: [
      ("exit 0\n", LauncherReport.Result.ended(.exited(0))),
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
    ] as [(String, LauncherReport.Result?)])
  func result(text: String, expected: LauncherReport.Result?) {
    #expect(report(text).result == expected)
  }

  // Fails if the part of a line that a killed launcher wrote is taken for `exit 1`.
  @Test("a line without its newline does not count")
  func incomplete() {
    #expect(report("exit 1").result == nil)
    #expect(report("job 4\nexit 1").result == nil)
    #expect(report("exit 3\nexit 1").result == .ended(.exited(3)))
  }

  // Fails if the first result or name counts, or a name overrides a result.
  @Test("the last result counts, wherever the job and the node are named")
  func last() {
    let report = report("job 4\nexit 1\nnode n1\nlost it\njob 5\nexit 2\nnode n2\nunknown\n")
    #expect(report.result == .ended(.exited(2)))
    #expect(report.job == Bytes("5") && report.node == Bytes("n2"))
  }

  // Fails if a line of any length becomes a part of the journal.
  @Test("a reason is cut to 1,000 bytes")
  func long() {
    let reason = String(repeating: "x", count: 5_000)
    #expect(report("lost \(reason)\n").result == .lost(Bytes(reason.utf8.prefix(1_000))))
  }

  // Fails if the exit code of a launcher is taken for that of the job.
  @Test("without a result the end is unknown, however the launcher ended")
  func noResult() {
    let launch = Launch(command: Bytes("srun"))
    func end(_ text: String, _ launcher: Ending?) -> (Ending?, String?) {
      let (ending, launch) = launch.end(report(text), launcher: launcher)
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
