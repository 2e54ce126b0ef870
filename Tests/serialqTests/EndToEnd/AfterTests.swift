import Foundation
import SerialqQueue
import SerialqSystem
import Testing

/// `--after`: jobs that run only if others succeeded.
@Suite final class AfterTests: SceneSuite {
  /// Adds job 1, which fails without the file `ok`, and job 2, which is skipped for it.
  private func skipJob() throws {
    try scene.add("test -e ok")
    #expect(try scene.serialq("add", "--no-start", "--after", "1", "true").code == 0)
    #expect(try scene.serialq("run").code == 1)
  }

  // Fails if a retry silently runs a job whose condition is not met, or leaves skipped jobs behind.
  @Test("retry says what it does to the jobs that depend on others", .needs(.tmux, .bash))
  func retryNotes() throws {
    try skipJob()
    let terminal = try Terminal(
      scene, typing: "clear; serialq retry 2; serialq wait 2; touch ok; serialq retry 1")
    try terminal.waitFor("the notes") { lines in
      lines.contains("The results of other jobs do not matter this time to job 2.")
    }
    #expect(try scene.serialq("wait", "2").code == 0)
  }

  // Fails if retry leaves skipped jobs behind, runs them elsewhere, or says nothing.
  @Test("retry takes along what was skipped because of the job", .needs(.tmux, .bash))
  func retryTakesAlong() throws {
    let jobs = [[], ["--if-ok"], ["--if-ok"], ["--after", "2"], []]
    for (id, options) in jobs.enumerated() {
      let line = "echo \(id + 1) >>rec; " + (id == 0 ? "test -e ok" : ":")
      #expect(try scene.serialq(["add", "--no-start"] + options + [line]).code == 0)
    }
    #expect(try scene.serialq("run").code == 1)
    #expect(try scene.states() == [.failed, .skipped, .skipped, .skipped, .succeeded])
    // Requires only what is retried, not what that required.
    #expect(try scene.serialq("retry", "2").code == 0)
    #expect(try scene.serialq("wait", "4").code == 0)
    #expect(try scene.states() == [.failed, .succeeded, .skipped, .succeeded, .succeeded])
    let terminal = try Terminal(scene, typing: "clear; touch ok; serialq retry 1")
    try terminal.waitForLine("serialq: job 1 queued again, and after it job 3, skipped before")
    #expect(try scene.serialq("wait").code == 0)
    #expect(try content(scene.path("rec")).text == "1\n5\n2\n4\n1\n3\n")
  }

  // Fails if the skip of a job that is queued again counts as the result before another one.
  @Test(
    "a job that is queued again is not skipped because of what was skipped for it",
    arguments: [
      (["exit 3", "--if-ok true"], "edit --if-ok 1 true", [JobState.succeeded, .succeeded]),
      (["exit 3", "--after 1 true"], "edit --if-ok 1 true", [.succeeded, .succeeded]),
      (["exit 3", "--if-ok true"], "edit --if-ok 2 true", [.failed, .skipped]),
      (
        ["exit 3", "--if-ok true", "--after 2 true"], "retry 3 2",
        [.failed, .succeeded, .succeeded]
      ),
      (
        ["true", "exit 3", "--if-ok --after 1 true"], "retry 1", [.succeeded, .failed, .skipped]
      ),
      (["exit 3"], "edit --if-ok 1 && serialq add --if-ok --first true", [.failed, .skipped]),
      (
        ["exit 3", "--if-ok true"], "add --after 1 'exit 7' && serialq edit 1 true",
        [.succeeded, .succeeded, .failed]
      ),
    ])
  func again(jobs: [String], command: String, states: [JobState]) throws {
    for job in jobs {
      let (options, line) =
        job.hasSuffix("true") ? (job.dropLast(4), "true") : ("", job)
      #expect(try scene.script("serialq add --no-start \(options) -c '\(line)'").code == 0)
    }
    #expect(try scene.serialq("run").code == 1)
    _ = try scene.script("serialq pause; serialq \(command); serialq resume; serialq wait")
    #expect(try scene.states() == states)
  }

  // Fails if edit queues only the job itself again.
  @Test("edit takes along what was skipped because of the job")
  func editTakesAlong() throws {
    try skipJob()
    #expect(try scene.serialq("edit", "1", "true").code == 0)
    #expect(try scene.serialq("wait").code == 0)
    #expect(try scene.states() == [.succeeded, .succeeded])
  }

  // Fails if log prints nothing, or the output of an earlier attempt, without a word.
  @Test("log says that a job was skipped, and whose output it prints")
  func skippedLog() throws {
    try skipJob()
    let skip = "was skipped because job 1 did not succeed"
    let none = try scene.serialq("log", "2")
    #expect(none.text == "" && none.code == 0)
    #expect(none.errorText == "serialq: job 2 has no output: it \(skip)\n")
    #expect(try scene.serialq("edit", "2", "--after", "1", "echo deployed").code == 0)
    #expect(try scene.serialq("wait", "2").code == 1)
    _ = try scene.script("touch ok; serialq retry 1 2; serialq wait; rm ok; serialq retry 1 2")
    #expect(try scene.serialq("wait", "2").code == 1)
    for option in [[], ["-f"]] {
      let words = ["log"] + option + ["2"]
      let old = try scene.serialq(words)
      #expect(old.text == "deployed\n")
      let output = "this is the output of attempt 1"
      #expect(old.errorText == "serialq: job 2 \(skip); \(output)\n")
    }
  }

  private func waiting() throws -> [JobID] {
    try scene.queue().waiting.map(\.id)
  }

  // Fails if a job runs without the success of all, a chain continues, or the reason is missing.
  @Test("a job runs only if all named jobs succeeded, else it and its chain are skipped")
  func chain() throws {
    _ = try scene.serialq("add", "--no-start", "-n", "build", "echo 1 >>rec")
    try scene.add("echo 2 >>rec; exit 3")
    func add(_ words: String...) throws {
      let outcome = try scene.serialq(["add", "--no-start"] + words)
      #expect(outcome.code == 0, "\(outcome.errorText)")
    }
    try add("--after", "build", "echo 3 >>rec")
    try add("--after", "3", "--after", "1", "echo 4 >>rec")
    try add("--after", "1-2,build", "echo 5 >>rec")
    try add("--after", "5", "echo 6 >>rec")
    try add("echo 7 >>rec")
    #expect(try scene.serialq("show", "4").text.contains("\nafter      1, 3, skipped unless all"))
    #expect(try scene.listed()[4]["after"] as? [Int] == [1, 2])
    #expect(try scene.serialq("run").code == 1)
    #expect(try content(scene.path("rec")).text == "1\n2\n3\n4\n7\n")
    #expect(
      try scene.states() == [
        .succeeded, .failed, .succeeded, .succeeded, .skipped, .skipped, .succeeded,
      ])
    for id in [5, 6] {
      #expect(
        try scene.serialq("show", "\(id)").text.contains("skipped because job 2 did not succeed"))
      #expect(try scene.listed()[id - 1]["skippedBecause"] as? Int == 2)
    }
    let list = try scene.serialq("list", "--state", "skipped").text
    #expect(
      list == """
        ID  STATE    AFTER  COMMAND
         5  skipped  2      echo 5 >>rec
         6  skipped  2      echo 6 >>rec

        """)
    // As after any failure.
    #expect(try scene.serialq("wait").code == 1)
    #expect(try scene.serialq("ack", "--all").code == 0)
    #expect(try scene.serialq("wait").code == 0)
    #expect(try scene.serialq("retry", "6").code == 0)
    #expect(try scene.serialq("wait").code == 0)
    #expect(try scene.states()[5] == .succeeded)
  }

  // Fails if a job is queued, or a queue is made, when a named job does not exist.
  @Test("a named job must exist, else nothing is queued")
  func refused() throws {
    let none = try scene.serialq("add", "--after", "1", "true")
    expectRefusal(none, "queue default: it has no jobs, so none can be --after one")
    #expect(try scene.serialq("run", "--after", "1", "true").code == 125)
    #expect(try scene.serialq("queues", "--json").text == "[]\n")
    try scene.add("true")
    let before = try scene.journal()
    for word in ["2", "1,none", "2-9", "none", "", "0", "1,"] {
      let refused = try scene.serialq("add", "--after", word, "true")
      #expect(refused.code == 125 && refused.output.isEmpty, "\(word)")
    }
    let refused = try scene.serialq("add", "-f", "-", "--after", "1,2") { $0.input = Bytes("a\nb") }
    expectRefusal(refused, "--after job 2: queue default has no such job; its last job is 1")
    #expect(refused.errorText.contains("Nothing was queued."))
    #expect(try scene.journal() == before)
  }

  // Fails if a job whose turn comes first is skipped or blocks the queue, or its order is reversed.
  @Test("a job waits behind the named ones, wherever it is put")
  func order() throws {
    #expect(try scene.serialq("pause").code == 0)
    try scene.add("exit 1", "true", "true")
    let added = try scene.serialq("add", "--first", "--after", "1", "-f", "-") {
      $0.input = Bytes("true\ntrue\n")
    }
    #expect(added.code == 0)
    #expect(try waiting() == [1, 4, 5, 2, 3])
    let before = try scene.journal()
    expectRefusal(
      try scene.serialq("move", "5", "--first"),
      "job 5: it cannot be before job 1, after which it runs")
    expectRefusal(
      try scene.serialq("move", "1", "--last"),
      "job 4: it cannot be before job 1, after which it runs")
    #expect(try scene.journal() == before)
    #expect(try scene.serialq("move", "1", "4", "5", "--last").code == 0)
    #expect(try waiting() == [2, 3, 1, 4, 5])
    // A job that is retried takes those that wait for it with it.
    #expect(try scene.serialq("cancel", "1").code == 0)
    #expect(try scene.serialq("add", "true").text == "6\n")
    #expect(try scene.serialq("retry", "1").code == 0)
    #expect(try waiting() == [2, 3, 6, 1, 4, 5])
    #expect(try scene.serialq("resume").code == 0)
    #expect(try scene.serialq("wait").code == 1)
    #expect(
      try scene.states() == [.failed, .succeeded, .succeeded, .skipped, .skipped, .succeeded])
  }

  // Fails if `show` leaves one out.
  @Test("show prints the time limit, the retries and the conditions")
  func shown() throws {
    #expect(try scene.serialq("pause").code == 0)
    try scene.add("true")
    _ = try scene.serialq(
      "add", "--timeout", "1h30m", "--retries", "3", "--retry-delay", "10", "--if-ok", "--after",
      "1", "true")
    #expect(
      try scene.serialq("show", "2").text.contains(
        """

        timeout    1h 30m
        retries    3, each after 10s
        if-ok      skipped unless the job before it succeeded
        after      1, skipped unless all succeeded

        """))
    let job = try #require(try scene.listed().last)
    #expect(job["timeout"] as? Int == 5_400 && job["ifOk"] as? Bool == true)
    #expect(job["retries"] as? Int == 3 && job["retryDelay"] as? Int == 10)
    #expect(try scene.listed()[0]["timeout"] is NSNull)
  }

  // Fails if `retry` continues to count the automatic retries of before.
  @Test("retry grants all --retries again")
  func retriesAgain() throws {
    #expect(try scene.serialq("run", "--retries", "1", "echo x >>rec; exit 1").code == 1)
    #expect(try scene.serialq("show", "1").text.contains("\nretries    1, 1 used\n"))
    #expect(try scene.serialq("retry", "1").code == 0)
    #expect(try scene.serialq("wait", "1").code == 1)
    #expect(try content(scene.path("rec")).text == "x\nx\nx\nx\n")
    #expect(try scene.queue().job(1)?.attempts == 4)
  }

  // Fails if a job that is put first during a retry delay waits for the delay, as the help denies.
  @Test("--first and move put a job before one that waits for its next attempt")
  func duringDelay() throws {
    _ = try scene.serialq("add", "--retries", "1", "--retry-delay", "1h", "exit 1")
    try scene.waitForJob(1) { $0.waiting?.due != nil }
    #expect(try scene.serialq("add", "--first", "echo 2 >>rec").text == "2\n")
    #expect(try scene.serialq("wait", "2").code == 0)
    #expect(try scene.serialq("add", "echo 3 >>rec").text == "3\n")
    #expect(try scene.states() == [.waiting, .succeeded, .waiting])
    #expect(try scene.serialq("move", "3", "--first").code == 0)
    #expect(try scene.serialq("wait", "3").code == 0)
  }
}
