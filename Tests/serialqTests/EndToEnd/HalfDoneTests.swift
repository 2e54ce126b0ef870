import Testing

/// Commands that fail after a part of their work is done.
@Suite final class HalfDoneTests: SceneSuite {
  /// Puts a folder in place of a file of the queue.
  private func block(_ name: String, queue: String = "default") throws {
    #expect(try scene.script("mkdir '\(scene.spool.text)/\(queue)/\(name)'").code == 0)
  }

  // Fails if the message reports only that the runner could not be started: a caller would repeat
  // the command, and the job would run twice.
  @Test("retry and resume report that the queue is changed when no runner can be started")
  func noRunner() throws {
    #expect(try scene.serialq("run", "-c", "false").code == 1)
    try scene.add("true")
    #expect(try scene.serialq("pause").code == 0)
    try block("runner.log")
    let resumed = try scene.serialq("resume")
    #expect(resumed.code == 125 && resumed.errorText.contains("changed despite this error"))
    #expect(try !scene.queue().isPaused)
    let retried = try scene.serialq("retry", "1")
    #expect(retried.code == 125 && retried.errorText.contains("changed despite this error"))
    #expect(try scene.states() == [.waiting, .waiting])
    // No change is left to make, so none is reported.
    let again = try scene.serialq("resume")
    #expect(again.code == 125 && !again.errorText.contains("despite this error"))
  }

  // Fails if the advice is a command that fails alike.
  @Test("a planted file that a command meets after its change is to be moved away")
  func planted() throws {
    #expect(try scene.serialq("pause").code == 0)
    try scene.add("true")
    try block("runner.lock")
    for (words, done) in [
      (["resume"], "The queue is changed despite this error."),
      (["add", "true"], "Job 2 is queued despite this error; do not add it again."),
    ] {
      let outcome = try scene.serialq(words)
      let lines = outcome.errorText.split(separator: "\n")
      #expect(outcome.code == 125 && lines[0].hasSuffix("/runner.lock: it is not a regular file"))
      #expect(
        lines[1] == "\(done) serialq did not create it. Check it with ls -ld, and move it away.")
    }
  }

  // Fails if the job is queued before a runner is known to be possible.
  @Test("run queues nothing when it cannot run")
  func cannotRun() throws {
    #expect(try scene.serialq("pause").code == 0)
    try block("runner.lock")
    let outcome = try scene.serialq("run", "-c", "true")
    #expect(outcome.code == 125, "\(outcome.errorText)")
    #expect(try scene.queue().jobs.isEmpty)
  }

  // Fails if a failed compaction is reported as a failed clean.
  @Test("clean reports that the jobs are forgotten when the journal cannot be rewritten")
  func noCompaction() throws {
    #expect(try scene.serialq("run", "-c", "true").code == 0)
    try block("journal.new")
    let outcome = try scene.serialq("clean")
    #expect(outcome.code == 125 && outcome.errorText.contains("removed despite this error"))
    #expect(try scene.queue().jobs.isEmpty)
  }

  // Fails if an error in the first queue ends the command: after a reboot the others would not be
  // started.
  @Test("pause and resume continue with the other queues after an error in one")
  func otherQueues() throws {
    for queue in ["a", "b", "c"] {
      #expect(try scene.serialq("pause", "-q", queue).code == 0)
    }
    #expect(try scene.script("rm '\(scene.spool.text)/a/journal'").code == 0)
    try block("journal", queue: "a")
    let outcome = try scene.serialq("resume", "--all")
    #expect(outcome.code == 125 && outcome.errorText.contains("/a/journal"))
    #expect(try !scene.queue("b").isPaused && !scene.queue("c").isPaused)
  }
}
