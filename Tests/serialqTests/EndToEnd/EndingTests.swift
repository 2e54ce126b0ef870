import Foundation
import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// Jobs that are canceled, time out, or fail and are retried.
@Suite(.beside) final class EndingTests: SceneSuite {
  // Fails if requests are not read under the lock that records the end: a job that was reported as
  // being canceled would start again.
  @Test("a cancel that races with the end of the job prevents a retry")
  func cancelAtTheEnd() throws {
    _ = try scene.serialq("add", "--retries", "3", "echo x >>rec; read x <gate; exit 1")
    _ = try scene.waitForProcess(of: 1)
    let folder = try scene.queueFolder()
    let lock = try #require(try JobLock.existing(1, folder))
    let run = try #require(try scene.queue().job(1)?.status.requested(SIGTERM, at: Clock.reading()))
    // Runs while the runner, which has detected the exit, waits for the lock to record it.
    try Journal(folder).locked { (scope) throws(Failure) in
      try gate.open()
      try lock.lock()
      lock.unlock()
      try scope.append([.status(1, run)])
    }
    #expect(try scene.serialq("wait", "1").code == 1)
    #expect(try scene.states() == [.cancelled])
    #expect(try content(scene.path("rec")).text == "x\n")
  }

  // Fails if the second cancel looks like the first, or nothing shows that the job is to end.
  @Test(
    "a second cancel says that the job is already being ended, and list shows it as ending",
    .needs(.tmux, .bash))
  func cancelledAgain() throws {
    try scene.addRunning("trap '' TERM; echo up; while :; do read x <gate; done", until: "up")
    let terminal = try Terminal(scene, columns: 100)
    try terminal.type("clear; serialq cancel 1; serialq cancel --running")
    let end = " with SIGTERM, and with SIGKILL after 10 seconds"
    let advice = [
      "End it at once: serialq cancel --signal KILL 1", "Wait for its end: serialq wait 1",
    ]
    try terminal.waitFor("two messages") { screen in
      screen == ["serialq: job 1 is being ended\(end)"] + advice
        + ["serialq: job 1 is already being ended\(end)"] + advice + ["$"]
    }
    #expect(try scene.serialq("list", "--state", "running").text.contains(" ending "))
    #expect(try scene.serialq("cancel", "--signal", "KILL", "1").code == 0)
    try scene.waitForJob(1, .cancelled)
  }
}
