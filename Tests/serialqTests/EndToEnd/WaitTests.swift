import SerialqQueue
@testable import SerialqSystem
import TestSupport
import Testing

/// `wait` when a runner is killed, and when a job would wait for itself.
@Suite(.beside) final class WaitTests: SceneSuite {
  // Fails if the runner's death is not detected: `wait` would block forever.
  @Test("a runner that is killed during a wait is detected, and another continues")
  func killedRunner() throws {
    try scene.add("read x <gate", "echo 2 >>rec")
    let waiter = try scene.start("wait")
    let job = try scene.waitForProcess(of: 1)
    let runner = try scene.waitForRunner()
    #expect(kill(runner, SIGKILL) == 0)
    try waitUntil("another runner", watching: [scene.queueFolder().path]) {
      try scene.waitForRunner() != runner
    }
    #expect(kill(-job, SIGKILL) == 0)
    let outcome = try waiter.wait()
    #expect(outcome.code == 1 && outcome.errorText.contains("job 1 was interrupted"))
    #expect(try scene.states() == [.interrupted, .succeeded])
  }

  #if os(Linux)
    // Fails if the job is recognized only by its process group: `log -f` would copy the log into
    // itself. Without its options, the address sanitizer would report what the process keeps until
    // its exit.
    @Test(
      "a process of a job that changed its group, session or variables is refused too",
      .needs(.setsid),
      arguments: [
        "timeout 1000", "setsid -w", "setsid -w timeout 1000", "env -u SERIALQ_JOB",
        "env -i SERIALQ_DIR=\"$SERIALQ_DIR\" PATH=\"$PATH\" ASAN_OPTIONS=$ASAN_OPTIONS timeout 1000",
      ])
    func ownQueueElsewhere(prefix: String) throws {
      try scene.add(
        "for call in 'run true' wait 'log -f 1'; do "
          + "{ \(prefix) serialq $call; echo $?; } 2>&1 | head -n 9; done")
      let run = try scene.serialq("run")
      let refusals = ["run", "wait", "log -f"].map { call in
        """
        serialq: \(call): job 1 of queue default calls it and would wait for itself
        Queue a job after it: serialq add; or use another queue: -q NAME
        125

        """
      }
      #expect(run.code == 0 && run.text == refusals.joined(), "\(run.text)")
    }

    // Fails if only the lock and the group show that a process is one of the job's: leave out the
    // descent.
    @Test(
      "a process that has left the job's group, session and lock is not left to wait for it",
      .needs(.bash, .setsid))
    func descendants() throws {
      func call(_ words: String) -> String { "bash -c 'exec 63>&-; setsid -w serialq \(words)'" }
      #expect(try scene.serialq("run", "-c", call("wait")).code == 125)
      for (queue, words) in [("x", "-q y wait"), ("y", "-q x wait")] {
        let line = "read x <gate; \(call(words)); echo $? >\(queue)"
        #expect(try scene.serialq("add", "-q", queue, "-c", line).code == 0)
      }
      for _ in 1...2 { try gate.open() }
      #expect(try scene.serialq("wait", "--all").code == 1)
      let codes = try ["x", "y"].map { try content(scene.path($0)).text }
      #expect(codes.contains("125\n"), "\(codes)")
    }

    // Fails if a job that waited for an earlier job is taken for one that still does: it has been
    // stopped since, and could not remove its mark. Or if a killed one is.
    @Test("a job can wait for a queue that waited for an earlier job of its own queue")
    func noDeadlock() throws {
      let waits = "(serialq -q y wait 1 & echo $! >pid; wait $!; serialq -q y wait 1; echo over)"
      for line in ["read x <gate", "serialq -q x wait"] {
        #expect(try scene.serialq("add", "-q", "y", "-c", line).code == 0)
      }
      #expect(try scene.serialq("add", "-q", "x", "-c", waits).code == 0)
      try scene.waitForFile("pid", "\n")
      let mark = try scene.queueFolder("y").waiters
      try waitUntil("the mark", watching: [scene.queueFolder("y").path]) {
        try FileSystem.status(of: mark) != nil
      }
      let pid = try #require(Int32(content(scene.path("pid")).text.dropLast()))
      #expect(kill(pid, SIGSTOP) == 0)
      try gate.open()
      try scene.waitForJob(2, in: "y", .running)
      // It waits, and is not refused.
      try waitUntil("the other mark", watching: [scene.queueFolder("x").path]) {
        try FileSystem.status(of: scene.queueFolder("x").waiters) != nil
      }
      #expect(kill(pid, SIGCONT) == 0)
      #expect(try scene.serialq("wait", "--all").code == 0)
      #expect(try scene.states("y") == [.succeeded, .succeeded])
    }
  #endif
}
