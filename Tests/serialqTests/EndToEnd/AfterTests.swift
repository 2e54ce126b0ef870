import SerialqQueue
import SerialqSystem
import Testing

/// `--after`: jobs that run only if others succeeded.
@Suite final class AfterTests: SceneSuite {
  // Fails if a retry silently runs a job whose condition is not met, or leaves skipped jobs behind.
  @Test("retry says what it does to the jobs that depend on others", .needs(.tmux, .bash))
  func retryNotes() throws {
    try scene.add("test -e ok")
    #expect(try scene.serialq("add", "--no-start", "--after", "1", "true").code == 0)
    #expect(try scene.serialq("run").code == 1)
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
}
