import Foundation
import SerialqQueue
@testable import SerialqSystem
import TestSupport
import Testing

/// Clock changes, reboots and reused process ids.
@Suite(.beside) final class ClockTests: SceneSuite {
  // Fails if elapsed time is measured by the date: the job would have a duration of zero or an
  // hour, be shown as running for an hour, or exceed its time limit of half an hour.
  @Test(
    "a clock change during a job affects neither its duration nor its time limit",
    .needs(.cc), .enabled(if: ShiftedClock.isThere, ShiftedClock.needs), arguments: [-3_600, 3_600])
  func running(shift: Int) throws {
    let clock = try ShiftedClock(scene)
    #expect(try scene.serialq("add", "--no-start", "--timeout", "30m", "read x <gate").code == 0)
    let run = try scene.start("run", change: clock.change)
    _ = try scene.waitForProcess(of: 1)
    try clock.set(shift)
    let status = try scene.serialq("status", change: clock.change)
    #expect(
      status.text.firstMatch(of: /running for \d+s\n/) != nil, "\(status.text)")
    // Makes the runner check everything again.
    try scene.add("true")
    try gate.open()
    #expect(try run.wait().code == 0)
    let job = try #require(try scene.queue().job(1))
    #expect(try #require(job.duration) < 60_000_000_000)
    let dates = try #require(job.ended).microseconds - #require(job.started).microseconds
    #expect(abs(dates - Int64(shift) * 1_000_000) < 60_000_000, "the date was not set")
  }

  // Fails if a new runner relies on the date: it would kill at once a job with half an hour left,
  // and report a timeout.
  @Test(
    "a clock set forward does not shorten the time limit of a dead runner's job",
    .needs(.cc), .enabled(if: ShiftedClock.isThere, ShiftedClock.needs))
  func orphan() throws {
    let clock = try ShiftedClock(scene)
    #expect(try scene.serialq("add", "--no-start", "--timeout", "30m", "read x <gate").code == 0)
    try scene.orphanJob()
    try clock.set(3_600)
    let second = try scene.start("run", change: clock.change).waitForErrors("waiting for it to end")
    try gate.open()
    _ = try second.wait()
    #expect(try scene.states() == [.interrupted])
  }

  // Fails if the date decides when to retry: set back, the second attempt would be an hour late,
  // and this test would be killed.
  @Test(
    "a clock set back during a retry delay does not extend the delay",
    .needs(.cc), .enabled(if: ShiftedClock.isThere, ShiftedClock.needs))
  func retry() throws {
    let clock = try ShiftedClock(scene)
    let added = try scene.serialq(
      "add", "--no-start", "--retries", "1", "--retry-delay", "2s", "test -e tried || ! : >tried")
    #expect(added.code == 0)
    let run = try scene.start("run", change: clock.change)
    try scene.waitForJob(1) { $0.waiting?.due != nil }
    try clock.set(-3_600)
    let status = try scene.serialq("status", change: clock.change)
    #expect(!status.text.contains("59m") && !status.text.contains("1h"), "\(status.text)")
    #expect(try run.wait().code == 0)
    let job = try #require(try scene.queue().job(1))
    #expect(job.state == .succeeded && job.attempts == 2)
  }

  // Fails if a negative age is shown, a job that ended in the future counts as old, or events are
  // ordered by date.
  @Test(
    "a queue with future dates is shown, cleaned and run in order",
    .needs(.cc), .enabled(if: ShiftedClock.isThere, ShiftedClock.needs))
  func future() throws {
    let clock = try ShiftedClock(scene)
    try clock.set(86_400)
    let ahead = try scene.serialq("run", "echo first; exit 3", change: clock.change)
    #expect(ahead.code == 3)
    #expect(try scene.serialq("run", "echo second").code == 0)
    let status = try scene.serialq("status")
    #expect(status.text.contains("failed with exit code 3") && status.text.contains(", just now"))
    #expect(status.text.firstMatch(of: /-\d/) == nil, "\(status.text)")
    #expect(try scene.serialq("log").text == "second\n")
    #expect(try scene.serialq("clean", "--all", "--older-than", "1s").code == 0)
    #expect(try scene.queue().job(1) != nil, "it has not ended yet")
    // An hour later it has ended.
    try clock.set(86_400 + 3_600)
    let later = try scene.serialq("clean", "--all", "--older-than", "1s", change: clock.change)
    #expect(later.code == 0)
    #expect(try scene.queue().jobs.isEmpty)
  }

  // Fails if the lock file, or the process id, counts as the job itself.
  @Test(
    "a job that ran when the machine crashed is interrupted at once, and its old pid not signalled",
    .shows(Running.reboot))
  func reboot() throws {
    let stranger = try scene.launch(["/bin/sleep", "1000"])
    try scene.add("echo never >>rec", "echo next")
    let folder = try scene.queueFolder()
    let before = moment(Clock.now(), monotonic: .max / 2, boot: "another")
    try scene.write(.start(1, at: before), .spawn(1, pid: stranger.pid))
    // As left by a crash: the process ids now belong to other processes, and no lock is held.
    try write([], to: folder.jobLock(1))
    try write(Bytes("\(stranger.pid)\n".utf8), to: folder.runnerLock)
    let status = try scene.serialq("status")
    #expect(status.text.contains("its runner and the job died"), "\(status.text)")
    #expect(!status.text.contains("kill"), "\(status.text)")
    let run = try scene.serialq("run")
    #expect(run.text == "next\n" && !run.errorText.contains("waiting for it to end"))
    #expect(try scene.states() == [.interrupted, .succeeded])
    #expect(kill(stranger.pid, 0) == 0)
  }

  // Fails if a signal is sent to the id in the journal, not to the holder of the job's lock.
  @Test(
    "canceling a job whose process id was reused signals only the process that holds its lock",
    .needs(.bash, .flock))
  func reused() throws {
    let stranger = try scene.launch(["/bin/sleep", "1000"])
    try scene.add("true")
    let folder = try scene.queueFolder()
    try scene.write(.start(1, at: Clock.reading()), .spawn(1, pid: stranger.pid))
    // A process that the job left behind is alive, but has another id.
    let rest = try scene.launch([
      "/bin/bash", "-c",
      "exec 63>>'\(folder.jobLock(1).text)'; flock 63; echo held; exec sleep 1000",
    ])
    try rest.waitForOutput("held")
    #expect(try scene.serialq("cancel", "--signal", "KILL", "1").code == 0)
    _ = try scene.serialq("wait")
    #expect(try scene.states() == [.cancelled])
    #expect(kill(stranger.pid, 0) == 0)
    #expect(try rest.wait().code == 128 + SIGKILL)
  }
}

/// A clock that a test sets for individual programs: the date, not the monotonic clock.
private struct ShiftedClock {
  private let preload: Bytes
  private let offset: Bytes

  static let needs: Comment = "needs LD_PRELOAD, which this system does not have"

  private static let shared = Result { try PreloadedLibrary("clock", code) }

  init(_ scene: Scene) throws {
    preload = try Self.shared.get().variable(in: scene)
    offset = scene.folder.path("offset")
    try set(0)
  }

  /// Sets the clock to this offset from the real one, in seconds.
  func set(_ seconds: Int) throws {
    // Replaced by a rename, so that no process reads a partial number.
    let new = offset + Bytes(".new")
    try write(Bytes("\(seconds)\n".utf8), to: new)
    try FileSystem.rename(new, to: offset)
  }

  /// Makes a program use this clock.
  func change(_ launchOptions: inout LaunchOptions) {
    launchOptions.prelude += "\nexport '\(preload.text)' TEST_CLOCK='\(offset.text)'"
  }

  static let isThere: Bool = {
    guard let scene = try? Scene(), let clock = try? ShiftedClock(scene),
      (try? clock.set(86_400 * 365)) != nil,
      (try? scene.serialq("add", "--no-start", "true", change: clock.change).code) == 0,
      let added = try? scene.queue().job(1)?.added
    else { return false }
    return added.microseconds - Clock.now().microseconds > 86_400_000_000
  }()

  private static let code = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <fcntl.h>
    #include <stdlib.h>
    #include <time.h>
    #include <unistd.h>
    int clock_gettime(clockid_t clock, struct timespec *time) {
      static int (*real)(clockid_t, struct timespec *);
      if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
      int result = real(clock, time);
      const char *path = getenv("TEST_CLOCK");
      if (result || clock != CLOCK_REALTIME || !path) return result;
      char text[32] = {0};
      int file = open(path, O_RDONLY | O_CLOEXEC);
      if (file < 0) return result;
      if (read(file, text, sizeof text - 1) > 0) time->tv_sec += atol(text);
      close(file);
      return result;
    }
    """
}
