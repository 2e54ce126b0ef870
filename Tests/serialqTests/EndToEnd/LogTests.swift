import SerialqQueue
import SerialqSystem
import Testing

/// Reading the output of jobs, during a run and afterwards.
@Suite final class LogTests: SceneSuite {
  // Fails if Ctrl-C ends the job, leaves the user in doubt about it, or waits for a blocked reader.
  @Test(
    "Ctrl-C ends log -f and wait, which say that the job continues",
    arguments: [["log", "-f", "1"], ["log", "-f"], ["wait"], ["wait", "1"]])
  func followerInterrupted(words: [String]) throws {
    try scene.add("echo up; read x <gate; echo over")
    if words[0] == "log" { #expect(try scene.serialq("start").code == 0) }
    let follower = try scene.start(words)
    // `wait` has started the runner, and receives signals by then.
    if words[0] == "wait" {
      try scene.waitForLog(1, "up")
    } else {
      try follower.waitForOutput("up")
    }
    let outcome = try follower.end(SIGINT)
    #expect(outcome.status == .killed(SIGINT))
    #expect(outcome.errorText == "serialq: job 1 continues\n")
    try gate.open()
    #expect(try scene.serialq("wait", "1").code == 0)
  }
}
