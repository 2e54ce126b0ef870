@testable import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

#if os(Linux)
  /// Jobs whose processes left their process group.
  @Suite(.beside) final class EndOfHoldersTests: SceneSuite {
    /// The processes of the scene whose command line contains this.
    private func running(_ text: String) throws -> [Int32] {
      try scene.processes().filter { pid in
        let line = try? content(Bytes("/proc/\(pid)/cmdline".utf8))
        return line.map { Bytes($0.map { $0 == 0 ? 32 : $0 }).text.contains(text) } ?? false
      }
    }

    // Fails if only the process group is signaled: coreutils timeout has one of its own, and the
    // sleep would run on beside the next job.
    @Test(
      "cancel ends processes that left the group, before the next job starts",
      .shows(Running.holders), .needs(.setsid),
      arguments: ["timeout 100 sh work", "setsid -w sh work", "setsid sh work & wait"])
    func cancelled(command: String) throws {
      try write(Bytes("echo up; exec sleep 6161\n".utf8), to: scene.path("work"))
      _ = try scene.serialq("add", "\(command); echo x")
      try scene.add("echo next")
      try scene.waitForLog(1, "up")
      #expect(try scene.serialq("cancel", "1").code == 0)
      try scene.waitForJob(2, .succeeded)
      #expect(try scene.states() == [.cancelled, .succeeded])
      #expect(try running("sleep 6161").isEmpty)
      // Neither the grace period nor the time to give up has passed.
      let duration = try #require(try scene.queue().job(1)?.duration)
      #expect(duration < Termination.grace)
    }

    /// A daemon: it has left the group of its job, also the session unless `starter` only leaves
    /// the group, and closed the job's lock.
    private func addDaemon(
      _ name: String, _ work: String, starter: String = "setsid -f"
    ) throws -> String {
      try write(
        Bytes("exec 63>&- </dev/null >/dev/null 2>&1; echo up >>\(name).up; \(work)\n".utf8),
        to: scene.path(name))
      return "\(starter) bash \(name)"
    }

    // Fails if only the holders of the lock are ended: the sleep would run on beside the next job.
    // Or if what the runner has adopted counts only in another session.
    @Test(
      "cancel ends a process that has left the job in every way",
      .shows(Running.holders), .needs(.setsid, .bash, .perl),
      arguments: ["setsid -f", "perl -e 'fork and exit; setpgrp; exec @ARGV'"])
    func daemonOfCanceled(starter: String) throws {
      let daemon = try addDaemon("daemon", "exec sleep 6164", starter: starter)
      _ = try scene.serialq("add", "\(daemon); read x <gate")
      try scene.add("echo next")
      try scene.waitForFile("daemon.up", "up")
      #expect(try scene.serialq("cancel", "1").code == 0)
      try scene.waitForJob(2, .succeeded)
      #expect(try running("sleep 6164").isEmpty)
      #expect(try scene.states() == [.cancelled, .succeeded])
      let duration = try #require(try scene.queue().job(1)?.duration)
      #expect(duration < Termination.grace)
    }

    // Fails if a daemon of an earlier job counts as one of this job, or if the runner of another
    // queue does, which a command in the job started.
    @Test(
      "a daemon of an earlier job and the runner of another queue survive a cancellation",
      .shows(Running.leftovers), .needs(.setsid, .bash))
    func daemonOfEarlier() throws {
      let late = try Gate(scene, "late")
      let daemon = try addDaemon("daemon", "read x <late; echo late >>rec")
      try scene.add(
        daemon,
        "serialq add -q other 'echo begun >>begun; read x <late; echo other >>rec'; read x <gate")
      #expect(try scene.serialq("start").code == 0)
      try scene.waitForFile("begun", "begun")
      try scene.waitForFile("daemon.up", "up")
      #expect(try scene.serialq("cancel", "2").code == 0)
      try scene.waitForJob(2, .cancelled)
      try late.open()
      try late.open()
      try scene.waitForFile("rec", "late")
      try scene.waitForJob(1, in: "other", .succeeded)
      #expect(try scene.states() == [.succeeded, .cancelled])
    }

    // Fails if the runner does not reap what it adopts while a job runs.
    @Test("a job that leaves 200 processes behind leaves no zombies")
    func zombies() throws {
      let zombies = "$(grep -ls '^State:.Z' /proc/[0-9]*/status)"
      try scene.addRunning(
        """
        i=0; while [ $i -lt 200 ]; do (true &); i=$((i+1)); done
        while grep -qs "^PPid:.$PPID\\$" \(zombies); do sleep 0.1; done; echo clean; read x <gate
        """, until: "clean")
      try gate.open()
      try scene.waitForJob(1, .succeeded)
    }

    // Fails if a timeout signals only the process group.
    @Test("a timeout ends processes that left the group", .needs(.setsid))
    func timedOut() throws {
      _ = try scene.serialq("add", "--timeout", "1", "setsid -w sleep 6162")
      #expect(try scene.serialq("wait", "1").code == 124)
      #expect(try running("sleep 6162").isEmpty)
    }

    // Fails if SIGKILL goes to the process group only, or once: the processes of this job start
    // others when they end.
    @Test("SIGKILL ends processes that ignore SIGTERM and start others", .needs(.setsid))
    func stubborn() throws {
      let child = "trap \"\" TERM; echo up; while :; do read x <gate; done"
      try scene.addRunning(
        "trap '' TERM; while :; do setsid -w sh -c '\(child)'; done", until: "up")
      #expect(try scene.serialq("cancel", "1").code == 0)
      #expect(try scene.states() == [.running])
      #expect(try scene.serialq("cancel", "--signal", "KILL", "1").code == 0)
      try scene.waitForJob(1, .cancelled)
      #expect(try running("read x <gate").isEmpty)
    }

    // Fails if a command that a trap starts after SIGTERM receives it too.
    @Test("a job that left its group may clean up after SIGTERM", .needs(.setsid))
    func cleansUp() throws {
      let last = try Gate(scene, "last")
      let child = "trap \"sh clean; exit\" TERM; echo up; read x <gate"
      try write(
        Bytes("echo cleaning; read x <last; echo clean >>rec\n".utf8), to: scene.path("clean"))
      try scene.addRunning("setsid -w sh -c '\(child)'", until: "up")
      #expect(try scene.serialq("cancel", "1").code == 0)
      try scene.waitForLog(1, "cleaning")
      try last.open()
      try scene.waitForJob(1, .cancelled)
      #expect(try content(scene.path("rec")).text == "clean\n")
    }

    // Fails if every process that has the lock file open counts as a process of the job.
    @Test("a process that only opened the lock file is not ended", .needs(.bash))
    func reader() throws {
      let readerGate = try Gate(scene, "reader-gate")
      try scene.addRunning("echo up; read x <gate", until: "up")
      let lock = try scene.queueFolder().jobLock(1).text
      let script = "exec 63<>'\(lock)'; echo open; read x <reader-gate; echo alive"
      let reader = try scene.launch(["/bin/bash", "-c", script]).waitForOutput("open")
      #expect(try scene.serialq("cancel", "--signal", "KILL", "1").code == 0)
      try scene.waitForJob(1, .cancelled)
      try readerGate.open()
      #expect(try reader.wait().text == "open\nalive\n")
    }

    // Fails if the end of a job also ends what another job left behind.
    @Test(
      "what a job left behind at its normal end is not ended with a later job", .needs(.setsid),
      .shows(Running.leftovers), arguments: [false, true])
    func leftBehind(followsAtOnce: Bool) throws {
      let late = try Gate(scene, "late")
      try scene.add("setsid sh -c 'read x <late; echo late >>rec' & echo up")
      if !followsAtOnce { #expect(try scene.serialq("run").code == 0) }
      _ = try scene.serialq("add", "echo up; read x <gate")
      try scene.waitForLog(2, "up")
      #expect(try scene.serialq("cancel", "2").code == 0)
      try scene.waitForJob(2, .cancelled)
      try late.open()
      try scene.waitForFile("rec", "late")
    }

    // Fails if the runner waits for the lock, which a process that left the group holds: the end of
    // the leader wakes no flock(2).
    @Test(
      "after the runner's death the queue continues when the job has ended, not what it left behind",
      .shows(Running.leftovers), .needs(.setsid))
    func orphanEnds() throws {
      let daemonGate = try Gate(scene, "daemon-gate")
      try scene.add("setsid sh -c 'read x <daemon-gate' & echo begun; read x <gate", "echo next")
      try scene.orphanJob(printing: "begun")
      let second = try scene.start("run")
      try scene.waitForWait(for: 1)
      try gate.open()
      let outcome = try second.wait()
      #expect(outcome.text == "begun\nnext\n" && outcome.code == 1)
      #expect(try scene.states() == [.interrupted, .succeeded])
      withExtendedLifetime(daemonGate) {}
    }

    // Fails if a new runner ends only the process group of a canceled orphan.
    @Test("cancel ends all processes of an orphan", .needs(.setsid))
    func orphanCancelled() throws {
      try scene.add("setsid sleep 6163 & echo begun; read x <gate")
      try scene.orphanJob(printing: "begun")
      #expect(try scene.serialq("cancel", "1").code == 0)
      try scene.waitForJob(1, .cancelled)
      #expect(try running("sleep 6163").isEmpty)
    }

    // Fails if a process that cannot be signaled blocks the queue, or is left without a word.
    @Test(
      "a process that cannot be signaled is left, and named by status, show and the log",
      .shows(Running.holders), .needs(.setpriv),
      .needsOtherUser)
    func unreachable() throws {
      let owner = try OtherUser(owning: scene)
      try owner.addElevated()
      let job = "elevated --reuid 0 sh -c 'echo up; read x <gate' & wait"
      let outcome = try owner.script(
        """
        serialq add "\(job)" && serialq add --no-start 'echo next'
        until serialq log 1 2>&1 | grep -q up; do sleep 0.1; done
        serialq cancel --signal KILL 1; serialq wait 2; echo "code $?"
        serialq show 1; serialq status; serialq log 1
        serialq list --json | grep -c '"unreachable":"process '
        """)
      #expect(outcome.text.contains("code 0"), "\(outcome.errorText)")
      let reason = /process \d+ \(sh\): Operation not permitted/
      #expect(outcome.text.matches(of: reason).count == 3, "\(outcome.text)")
      #expect(outcome.text.contains("Job 1 is over, but a part of it still runs: process "))
      #expect(outcome.text.contains("serialq: cannot end process "))
      #expect(outcome.text.hasSuffix("\n1\n"))
      try gate.open()
    }
  }
#endif
