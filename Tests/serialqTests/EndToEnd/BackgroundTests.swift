import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// Jobs that run in the background after `add` returns.
@Suite final class BackgroundTests: SceneSuite {
  /// Ways to call `add` that must return at once, and run the job.
  static let callers = [
    "id=$(serialq add 'echo ran; read x <gate'); echo $id",
    "serialq add 'echo ran; read x <gate' | cat",
    "nohup serialq add 'echo ran; read x <gate' 2>/dev/null",
    "env -i SERIALQ_DIR=\"$SERIALQ_DIR\" PATH=\"$PATH\" serialq add 'echo ran; read x <gate'",
    "(serialq add 'echo ran; read x <gate' </dev/null >&- 2>&-); echo 1",
  ]

  // Fails if the runner keeps a descriptor of the caller (the pipe stays open) or its terminal, or
  // dies with it. The job blocks, so only `add` itself can end.
  @Test(
    "add returns at once however it is called, and the job runs", .shows(Running.addReturns),
    arguments: callers)
  func returnsAtOnce(line: String) throws { try checkReturnsAtOnce(line) }

  // As above, for the terminal.
  @Test(
    "add returns at once on a terminal that closes, and the job runs",
    .shows(Running.addReturns), .needs(.setsid, .script))
  func returnsAtOnceAtTerminal() throws {
    try checkReturnsAtOnce(
      "setsid -w script -qec \"serialq add 'echo ran; read x <gate'\" /dev/null | tr -d '\\r'")
  }

  private func checkReturnsAtOnce(_ line: String) throws {
    let outcome = try scene.script(line)
    #expect(outcome.text == "1\n", "\(outcome.errorText)")
    try scene.waitForLog(1, "ran")
    #expect(try scene.states() == [.running])
    try gate.open()
    #expect(try scene.serialq("wait", "1").code == 0)
  }

  // Fails if the runner shares a session, a group or a standard descriptor with its caller, or
  // inherits the caller's environment.
  @Test(
    "a runner has its own session, and shares nothing with its caller",
    .shows(Running.background, Running.hangup))
  func detached() throws {
    #expect(try scene.serialq("add", "-e", "SECRET=x", "read x <gate").code == 0)
    let runner = try scene.waitForRunner()
    #expect(getsid(runner) == runner && getpgid(runner) == runner)
    #expect(kill(runner, SIGHUP) == 0)
    #if os(Linux)
      let about = Bytes("/proc/\(runner)/".utf8)
      let environment = try content(about + Bytes("environ"))
      #expect(environment == Bytes("SERIALQ_DIR=") + scene.spool + [0])
      let ends = try scene.script(
        "readlink /proc/\(runner)/fd/0 /proc/\(runner)/fd/1 /proc/\(runner)/cwd")
      #expect(ends.text == "/dev/null\n\(try scene.queueFolder().runnerLog.text)\n/\n")
    #endif
    try gate.open()
    #expect(try scene.serialq("wait").code == 0)
  }

  // Fails if every add starts a runner, if an add or a waiting job has a process, descriptor,
  // thread or file of its own, or if a wake-up is lost because the runner exits between two adds.
  @Test(
    "hundreds of adds behind a running job use one runner, and all run in order",
    .shows(Running.oneRunner, Running.order))
  func manyAdds() throws {
    let count = isLong ? 10_000 : 150 / ease
    tally(count)
    #expect(try scene.serialq("add", "read x <gate").code == 0)
    let (job, runner) = (try scene.waitForProcess(of: 1), try scene.waitForRunner())
    let adds = try scene.script(
      "i=0; while [ $i -lt \(count) ]; do i=$((i+1)); serialq add \"echo $i >>rec\" || exit; done")
    #expect(adds.code == 0 && adds.errors.isEmpty)
    #expect(adds.text == (1...count).map { "\($0 + 1)\n" }.joined())
    #expect(try scene.waitForRunner() == runner)
    #if os(Linux)
      #expect(try scene.processes() == [runner, job])
      #expect(try scene.holdings(of: runner) < 100)
    #endif
    let folder = try scene.queueFolder()
    for path in [folder.logs, folder.locks] {
      #expect(try FileSystem.names(in: path) == [Bytes("1")])
    }
    #expect(try scene.queue().count(.waiting) == count)
    try gate.open()
    #expect(try scene.serialq("wait").code == 0)
    let record = (1...count).map { "\($0)\n" }.joined()
    #expect(try content(scene.path("rec")).text == record)
  }

  // Fails if a wake-up can be lost between an add that detects a runner and that runner's last
  // check of the queue: here every add meets a runner that is about to exit.
  @Test("no job is left waiting without a runner", .shows(Running.noLostWakeUp))
  func lostWakeUp() throws {
    let count = isLong ? 500 : 40 / ease
    tally(count)
    for id in 1...count {
      #expect(try scene.serialq("add", "true").text == "\(id)\n")
      if id % 3 == 0 { try scene.waitForJob(id) { $0.state == .succeeded } }
    }
    let last = try #require(try scene.queue().jobs.last)
    // Only the runners start these jobs.
    try scene.waitForJob(last.id, .succeeded)
    #expect(try scene.queue().count(.succeeded) == last.id)
  }

  // Fails if a job that ran during a crash of the machine is rerun silently, or blocks the rest.
  @Test(
    "after a reboot, start --all reports the interrupted job and runs the rest",
    .shows(Running.reboot))
  func reboot() throws {
    try scene.add("echo 1 >>rec", "echo 2 >>rec")
    let earlier = moment(Clock.now(), boot: "an earlier one")
    try scene.write(.start(1, at: earlier), .spawn(1, pid: 1))
    #expect(try scene.serialq("start", "--all").code == 0)
    let waited = try scene.serialq("wait")
    #expect(waited.code == 1 && waited.errorText.contains("job 1 was interrupted"))
    #expect(try scene.states() == [.interrupted, .succeeded])
    #expect(try content(scene.path("rec")).text == "2\n")
  }

  // Fails if the system's shutdown counts as a cancel request: the job would be skipped.
  @Test("a runner that receives SIGTERM records its job as interrupted, and the rest waits")
  func terminated() throws {
    _ = try scene.serialq("add", "read x <gate")
    _ = try scene.serialq("add", "true")
    _ = try scene.waitForProcess(of: 1)
    #expect(try kill(scene.waitForRunner(), SIGTERM) == 0)
    try scene.waitForJob(1, .interrupted)
    #expect(try scene.states() == [.interrupted, .waiting])
  }

  // Fails if the end of the job, which is noticed first, counts as its failure.
  @Test("a job that receives SIGTERM together with its runner, as at a shutdown, is interrupted")
  func terminatedTogether() throws {
    try scene.add("echo up; exec sleep 1000", "true")
    #expect(try scene.serialq("start").code == 0)
    try scene.waitForLog(1, "up\n")
    let (job, runner) = (try scene.waitForProcess(of: 1), try scene.waitForRunner())
    #expect(kill(runner, SIGSTOP) == 0 && kill(job, SIGTERM) == 0)
    let lock = try #require(try JobLock.existing(1, scene.queueFolder()))
    try lock.lock()
    lock.unlock()
    #expect(kill(runner, SIGTERM) == 0 && kill(runner, SIGCONT) == 0)
    try scene.waitForNoRunner()
    #expect(try scene.states() == [.interrupted, .waiting])
  }

  #if os(Linux)
    // Fails if the runner or `wait` polls.
    @Test(
      "an idle runner and an idle wait sleep, in all their threads", .shows(Running.noPolling),
      .disabled(if: isSanitized, "a sanitizer has a thread of its own, which works all the time"))
    func idle() throws {
      _ = try scene.serialq("add", "read x <gate")
      let waiter = try scene.start("wait")
      let runner = try scene.waitForRunner()
      _ = try scene.waitForProcess(of: 1)
      // Not a synchronization: the time span is measured.
      usleep(500_000)
      let before = try [runner, waiter.pid].map(sleeps)
      usleep(isLong ? 10_000_000 : 1_500_000)
      #expect(try [runner, waiter.pid].map(sleeps) == before)
      try gate.open()
      #expect(try waiter.wait().code == 0)
    }

    /// How often the threads of a process fell asleep, which they do once more after each wake-up.
    private func sleeps(_ pid: Int32) throws -> Int {
      let threads = Bytes("/proc/\(pid)/task".utf8)
      return try FileSystem.names(in: threads).reduce(0) { sum, thread in
        let path = threads.appending(path: thread).appending(path: Bytes("status"))
        let line = try content(path).text.split(separator: "\n").first {
          $0.hasPrefix("voluntary_ctxt_switches:")
        }
        return try sum + #require(line?.split(separator: "\t").last.flatMap { Int($0) })
      }
    }
  #endif
}
