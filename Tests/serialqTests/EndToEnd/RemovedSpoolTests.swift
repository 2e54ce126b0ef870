import SerialqSystem
import TestSupport
import Testing

/// Commands that wait while the folder of the queues is removed.
@Suite final class RemovedSpoolTests: SceneSuite {
  private static let calls = [
    ["wait"], ["wait", "1"], ["wait", "--all"], ["log", "-f"], ["log", "-f", "1"],
    ["log", "-f", "--all"], ["status", "-w"], ["status", "-w", "--all"],
  ]

  // Fails if a removed queue counts as an empty one, in which everything is done.
  @Test("a command that waits for a queue fails if the queue is removed", arguments: calls)
  func removed(call: [String]) throws {
    let isWait = call[0] == "wait"
    try scene.add("echo begun; read x <gate", "true")
    if !isWait { #expect(try scene.serialq("start").code == 0) }
    let waiter = try scene.start(call)
    // Its runner is started by `wait`, after it has read the queue.
    if isWait { try scene.waitForLog(1, "begun") } else { try waiter.waitForOutput("begun") }
    // Recorded after the job has started: the runner would make the journal again.
    _ = try scene.waitForProcess(of: 1)
    #expect(try scene.script("rm -r '\(scene.spool.text)'").code == 0)
    let outcome = try waiter.wait()
    #expect(
      outcome.code == 125 && outcome.errorText.contains(" was removed\n"),
      "\(outcome.code) \(outcome.errorText)")
    try gate.open()
  }

  // Fails if the command sleeps after the last event in the folder of the queues: its own removal
  // leaves none in it, as long as the job has its log open.
  @Test("status -w --all ends if the folder of the queues is removed after the queues")
  func removedLast() throws {
    _ = try scene.serialq("add", "echo begun; read x <gate")
    let watcher = try scene.start("status", "-w", "--all").waitForOutput("begun")
    _ = try scene.waitForProcess(of: 1)
    #expect(try scene.script("rm -r '\(scene.spool.text)'/*").code == 0)
    try watcher.waitForErrors("its journal \(scene.spool.text)/default/journal was removed")
    #expect(try scene.script("rmdir '\(scene.spool.text)'").code == 0)
    let outcome = try watcher.wait()
    #expect(outcome.code == 125 && outcome.errorText.contains("their folder"))
    try gate.open()
  }

  // Fails if the folder that was removed is still watched instead of the new one.
  @Test("status -w --all shows a queue that was removed with its jobs and made again")
  func madeAgain() throws {
    _ = try scene.serialq("add", "-q", "q", "--no-start", "true")
    let watcher = try scene.start("status", "-w", "--all").waitForOutput("next is job 1: true")
    #expect(try scene.script("rm -r '\(scene.spool.text)/q'").code == 0)
    try watcher.waitForErrors("was removed")
    for line in ["exit 7", "exit 8"] {
      _ = try scene.serialq("add", "-q", "q", "--no-start", line)
      try watcher.waitForOutput(line)
    }
    _ = try watcher.end(SIGINT)
  }

  // Fails if the command waits forever for a queue in a folder that is gone.
  @Test("status -w of a queue that does not exist ends if the folder of the queues is removed")
  func removedEmpty() throws {
    let watcher = try scene.start("status", "-w").waitForOutput("is empty")
    #expect(try scene.script("rmdir '\(scene.spool.text)'").code == 0)
    #expect(try watcher.wait().code == 125)
  }
}
