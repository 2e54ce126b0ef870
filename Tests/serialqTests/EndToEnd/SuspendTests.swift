@testable import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

#if os(Linux)
  /// `pause --now`: the running job is stopped until `resume`.
  @Suite(.beside) final class SuspendTests: SceneSuite {
    /// The processes of the scene except serialq: those of its jobs.
    private func processes() throws -> [ProcessStatus] {
      try scene.processes().compactMap(ProcessStatus.of).filter { $0.name != Bytes("serialq") }
    }

    /// Waits until all processes of jobs are stopped, or none is.
    ///
    /// The system reports a stopped process to its parent only.
    private func wait(areStopped: Bool) throws {
      try waitUntil("processes that are \(areStopped ? "" : "not ")stopped") {
        let found = try processes()
        return !found.isEmpty && found.allSatisfy { $0.isStopped == areStopped }
      }
    }

    private func expectSuspended() throws {
      try wait(areStopped: true)
      let job = try #require(try scene.queue().job(1))
      #expect(job.state == .running && job.suspendedSince != nil)
    }

    // Fails if only the process group is stopped, or `resume` does not reach a process that left
    // it.
    @Test(
      "pause --now stops all processes of the job, and resume continues them",
      .shows(Running.suspends), .needs(.setsid),
      arguments: ["sh work", "timeout 100 sh work", "setsid -w sh work", "setsid sh work & wait"])
    func suspended(command: String) throws {
      try write(Bytes("echo up; read x <gate; echo over\n".utf8), to: scene.path("work"))
      try scene.addRunning("\(command); true", until: "up")
      #expect(try scene.serialq("add", "echo next").code == 0)
      #expect(try scene.serialq("pause", "--now").code == 0)
      try expectSuspended()
      #expect(try scene.states() == [.running, .waiting])

      let status = try scene.serialq()
      #expect(status.text.contains("\n  suspended just now, after it was running for "))
      #expect(status.text.contains("serialq resume") && !status.text.contains("log -f"))
      #expect(try scene.serialq("list").text.contains(" 1  suspended "))
      for states in ["suspended", "running", "asking,suspended"] {
        #expect(try scene.serialq("list", "--state", states).text.contains(" 1  suspended "))
      }
      #expect(try scene.serialq("list", "--state", "ending,asking,retrying").text == "")
      #expect(try scene.serialq("show", "1").text.contains("\nsuspended  2"))
      #expect(try scene.serialq("queues").text.contains("paused, job 1 suspended"))
      #expect(try scene.listed()[0]["suspended"] is String)
      // Neither blocks where nothing can come.
      for words in [["wait"], ["wait", "1"], ["wait", "2"], ["log", "-f"], ["log", "-f", "1"]] {
        let outcome = try scene.serialq(words)
        #expect(outcome.code == 125, "\(words)")
        #expect(outcome.errorText.contains("queue default: job 1 is suspended\nContinue it with: "))
      }

      try gate.open()
      #expect(try scene.serialq("resume").code == 0)
      #expect(try scene.serialq("wait").code == 0)
      #expect(try scene.log(1).text == "up\nover\n")
      #expect(try scene.states() == [.succeeded, .succeeded])
    }

    // Fails if the rest of a job stays stopped for ever once its main process was killed: nothing
    // else would continue it.
    @Test("what a suspended job leaves behind is continued at its end", .needs(.setsid))
    func leftBehind() throws {
      let line = "setsid sh -c 'echo up; read x <gate; echo rest >>rec' & exec sleep 1000"
      try scene.addRunning(line, until: "up")
      #expect(try scene.serialq("pause", "--now").code == 0)
      try expectSuspended()
      let leader = try #require(try scene.queue().job(1)?.running?.pid)
      #expect(kill(leader, SIGKILL) == 0)
      try scene.waitForJob(1, .killed)
      try gate.open()
      try scene.waitForFile("rec", "rest")
    }

    /// A time limit in seconds, with time for the commands of a test: they are slow under a
    /// sanitizer.
    private static let limit = isSanitized ? 30 : 4

    // Fails if the time limit or the duration includes a suspension.
    @Test("time limits and durations exclude a suspension")
    func timeLimit() throws {
      try scene.addRunning("--timeout", "\(Self.limit)", "echo up; read x <gate", until: "up")
      #expect(try scene.serialq("pause", "--now").code == 0)
      // Not a synchronization: the time span is under test.
      usleep(UInt32(Self.limit) * 1_000_000 + 500_000)
      try expectSuspended()
      #expect(try scene.serialq("resume").code == 0)
      try gate.open()
      #expect(try scene.serialq("wait", "1").code == 0)
      let job = try #require(try scene.queue().job(1))
      #expect(try #require(job.duration) < Int64(Self.limit) * 1_000_000_000)
    }

    // Fails if a new runner counts the suspension, or does not continue the job.
    @Test(
      "a job suspended when its runner died continues at resume, with its time limit",
      .shows(Running.orphans))
    func orphan() throws {
      _ = try scene.serialq(
        "add", "--no-start", "--timeout", "\(Self.limit)", "echo up; read x <gate; echo over")
      let runner = try scene.start("run").waitForOutput("up")
      #expect(try scene.serialq("pause", "--now").code == 0)
      try expectSuspended()
      _ = try runner.end(SIGKILL)
      usleep(UInt32(Self.limit) * 1_000_000 + 500_000)
      #expect(try scene.serialq("status").text.contains("serialq cancel 1"))
      #expect(try scene.serialq("resume").code == 0)
      try gate.open()
      #expect(try scene.serialq("wait", "1").code == 1)
      #expect(try scene.log(1).text == "up\nover\n")
      #expect(try scene.states() == [.interrupted])
      #expect(try scene.serialq("show", "1").text.contains("its runner died, outcome unknown"))
    }

    // Fails if only a runner of the job's own time can suspend it.
    @Test("pause --now suspends a job whose runner died")
    func orphanSuspended() throws {
      try scene.add("echo up; read x <gate")
      try scene.orphanJob(printing: "up")
      #expect(try scene.serialq("pause", "--now").code == 0)
      try expectSuspended()
      // Runners come and go; the job stays as it is.
      let second = try scene.waitForRunner()
      #expect(kill(second, SIGKILL) == 0)
      try scene.waitForNoRunner()
      #expect(try scene.serialq("start").code == 0)
      try scene.waitForWait(for: 1)
      try expectSuspended()
      #expect(try scene.serialq("resume").code == 0)
      try gate.open()
      #expect(try scene.serialq("wait", "1").code == 1)
    }

    // Fails if a suspended job does not receive SIGTERM before SIGKILL, or `wait` still takes it
    // for suspended.
    @Test("a suspended job can be cancelled, and ends by itself")
    func cancelled() throws {
      try scene.addRunning(
        "trap 'echo ended >>rec; exit 3' TERM; echo up; read x <gate", until: "up")
      #expect(try scene.serialq("pause", "--now").code == 0)
      try expectSuspended()
      #expect(try scene.serialq("cancel", "1").code == 0)
      #expect(try scene.serialq("wait", "1").code == 3)
      #expect(try content(scene.path("rec")).text == "ended\n")
      #expect(try #require(try scene.queue().job(1)?.duration) < Termination.grace)
    }

    // Fails if a stopped runner leaves a stopped job, if the job is shown as suspended while it is
    // ended, or is reported as one whose runner died.
    @Test("a runner that is stopped ends its suspended job, which is interrupted")
    func runnerStopped() throws {
      try scene.add(
        "trap 'echo ending; read x <gate; echo ended >>rec; exit 3' TERM; echo up; read x <gate")
      let run = try scene.start("run").waitForOutput("up")
      #expect(try scene.serialq("pause", "--now").code == 0)
      try run.waitForErrors("serialq: job 1 is suspended; continue it: serialq resume\n")
      try expectSuspended()
      run.send(SIGTERM)
      try run.waitForOutput("ending")
      #expect(try scene.queue().suspended.isEmpty)
      try gate.open()
      #expect(try run.wait().code == 128 + SIGTERM)
      #expect(try content(scene.path("rec")).text == "ended\n")
      #expect(try scene.states() == [.interrupted])
      let shown = try scene.serialq("show", "1").text
      #expect(shown.contains("was interrupted: its runner was stopped, outcome unknown"))
    }

    // Fails if a pause that is there already, or one without a job, changes what is requested.
    @Test("pause --now and resume can be repeated, and apply to one queue or to all")
    func repeated() throws {
      #expect(try scene.serialq("pause", "--now").code == 0)
      #expect(try scene.queue().isPaused)
      #expect(try scene.serialq("pause", "--now").code == 0)
      #expect(try scene.serialq("resume").code == 0)
      try scene.addRunning("echo up; read x <gate", until: "up")
      #expect(try scene.serialq("pause").code == 0)
      #expect(try scene.queue().suspended.isEmpty)
      #expect(try scene.serialq("pause", "--now", "--all").code == 0)
      try expectSuspended()
      let journal = try scene.journal()
      for words in [["pause"], ["pause", "--now"], ["pause", "--now", "--all"]] {
        #expect(try scene.serialq(words).code == 0)
      }
      #expect(try scene.journal() == journal)
      #expect(try scene.serialq("resume", "--all").code == 0)
      #expect(try scene.serialq("resume").code == 0)
      try wait(areStopped: false)
      // One that is being ended uses its grace period.
      _ = try scene.serialq(
        "add", "trap 'echo ending; read x <gate; exit 3' TERM; echo up; read x <gate")
      try gate.open()
      try scene.waitForLog(2, "up")
      #expect(try scene.serialq("cancel", "2").code == 0)
      try scene.waitForLog(2, "ending")
      #expect(try scene.serialq("pause", "--now").code == 0)
      #expect(try scene.queue().suspended.isEmpty)
      try gate.open()
      #expect(try scene.serialq("wait", "2").code == 3)
    }

    // Fails if `status -w` or the display of `run` shows a suspended job as one that runs.
    @Test("live displays say that the job is suspended", .needs(.tmux, .bash))
    func displays() throws {
      try scene.add("echo up; read x <gate")
      let watch = try scene.start("status", "-w").waitForOutput("No runner is active.")
      let terminal = try Terminal(scene, typing: "clear; serialq run")
      try scene.waitForLog(1, "up")
      #expect(try scene.serialq("pause", "--now").code == 0)
      try terminal.waitForLine("Job 1 is suspended; continue it: serialq resume")
      try watch.waitForOutput("job 1 is suspended after ")
      #expect(try scene.serialq("resume").code == 0)
      try watch.waitForOutput("job 1 continues: echo up; read x <gate\n")
      try gate.open()
      try terminal.waitForLine("serialq: 1 of 1 succeeded")
      #expect(!(try terminal.screen().contains { $0.contains("is suspended") }))
      _ = try watch.end(SIGINT)
    }

    // Fails if a process that cannot be stopped blocks anything, or is left without a word.
    @Test(
      "what cannot be suspended is named by status, show and the log", .needs(.setpriv),
      .needsOtherUser)
    func unreachable() throws {
      let owner = try OtherUser(owning: scene)
      try owner.addElevated()
      let job = "elevated --reuid 0 sh -c 'echo up; read x <gate'; true"
      let outcome = try owner.script(
        """
        serialq add "\(job)"
        until serialq log 1 2>&1 | grep -q up; do sleep 0.1; done
        serialq pause --now; until serialq log 1 | grep -q cannot; do sleep 0.1; done
        serialq show 1; serialq status; serialq log 1; serialq resume; serialq show 1
        """)
      let reason = /process \d+ \(sh\): Operation not permitted/
      // In show, in status and in the log, of which status shows the end; not after resume.
      #expect(outcome.text.matches(of: reason).count == 4, "\(outcome.text)")
      #expect(outcome.text.contains("\nnot suspended  process "))
      #expect(outcome.text.contains("it cannot be suspended: process "))
      #expect(outcome.text.contains("serialq: cannot suspend process "))
      try gate.open()
      #expect(try owner.script("serialq wait 1").code == 0)
    }
  }
#endif
