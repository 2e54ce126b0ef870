import Foundation
import SerialqSystem
import TestSupport
import Testing

/// Commands with `--all`.
@Suite final class AllQueuesTests: SceneSuite {
  #if os(Linux)
    // Fails if a thread waits for each runner: with 100 queues, Dispatch has no thread left. Also
    // fails if one waits for the only runner: Dispatch wakes every second while a thread blocks.
    @Test("wait --all needs no thread for a queue, and ends after its time limit")
    func threads() throws {
      let names = (1...12).map { "q\($0)" }
      for name in names {
        #expect(try scene.serialq("add", "--no-start", "-q", name, "read x <gate").code == 0)
      }
      let waiter = try scene.start("wait", "--all")
      for name in names { _ = try scene.waitForProcess(of: 1, in: name) }
      // Its own, and those of Dispatch for Ctrl-C, whose number varies; one for each queue is more.
      let threads = try FileSystem.names(in: Bytes("/proc/\(waiter.pid)/task".utf8)).count
      #expect(threads <= names.count)
      let limited = try scene.serialq("wait", "--all", "--timeout", "1")
      #expect(limited.code == 124 && limited.errorText.hasSuffix("serialq status --all\n"))
      // Killed, so that only the end of its process shows that it is gone.
      let runner = try scene.waitForRunner(in: "q1")
      #expect(kill(runner, SIGKILL) == 0)
      for _ in names { try gate.open() }
      let outcome = try waiter.wait()
      #expect(outcome.code == 1 && outcome.errorText.contains("queue q1, job 1 was interrupted"))
    }
  #endif

  // Fails if the job of a line is unknown on a terminal.
  @Test(
    "on a terminal, log -f --all prints a heading where the output of another job continues",
    .needs(.tmux, .bash))
  func headings() throws {
    let terminal = try Terminal(scene)
    let (one, two) = (try Gate(scene, "one"), try Gate(scene, "two"))
    #expect(try scene.serialq("add", "-q", "a", "echo a1; read x <one; echo a2").code == 0)
    try scene.waitForLog(1, in: "a", "a1")
    try terminal.type("clear; serialq log -f --all")
    try terminal.waitForScreen("[a 1] echo a1; read x <one; echo a2\na1")
    #expect(try scene.serialq("add", "-q", "b", "echo b1; read x <two; exit 3").code == 0)
    try terminal.waitForLine("b1")
    try one.open()
    try terminal.waitForLine("[a 1] succeeded")
    try two.open()
    try terminal.waitForScreen(
      """
      [a 1] echo a1; read x <one; echo a2
      a1
      [b 1] echo b1; read x <two; exit 3
      b1
      ==> queue a, job 1 <==
      a2
      [a 1] succeeded after TIME
      [b 1] failed with exit code 3 after TIME
      $
      """)
  }

  // Fails if a queue that is created meanwhile is missed, or a line does not name its queue.
  @Test("status -w --all prints a line with the queue for each job that begins or ends")
  func watch() throws {
    #expect(try scene.serialq("add", "--no-start", "-q", "a", "true").code == 0)
    let watch = try scene.start("status", "-w", "--all").waitForOutput(
      "==> queue a <==\n1 waiting, next is job 1: true\n")
    // As long as the queue is new, its state is reported as a whole.
    #expect(try scene.serialq("add", "--no-start", "-q", "b", "exit 3").code == 0)
    try watch.waitForOutput("queue b")
    #expect(try scene.serialq("run", "-q", "b").code == 1)
    try watch.waitForOutput("queue b, job 1 failed with exit code 3 after ")
    #expect(try watch.end(SIGINT).code == 128 + SIGINT)
  }

  // Fails if a queue is missing on the display, or appears only after a restart.
  @Test("the live display of status -w --all shows every queue", .needs(.tmux, .bash))
  func live() throws {
    let terminal = try Terminal(scene, typing: "clear; serialq -w --all")
    try terminal.waitForScreen("No queue has jobs.")
    #expect(try scene.serialq("run", "-q", "b", "true").code == 0)
    #expect(try scene.serialq("run", "-q", "a", "true").code == 0)
    try terminal.waitForScreen(
      """
      ==> queue a <==
      No job is running or waiting: 1 succeeded.
      Finished just now, after TIME.

      ==> queue b <==
      No job is running or waiting: 1 succeeded.
      Finished just now, after TIME.
      """)
    try terminal.press("C-c")
    try terminal.waitFor("the prompt") { $0.suffix(2) == ["^C", "$"] }
  }
}
