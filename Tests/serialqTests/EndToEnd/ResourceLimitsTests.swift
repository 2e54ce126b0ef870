@testable import SerialqSystem
import TestSupport
import Testing

/// Limits of `ulimit` that stop serialq itself.
@Suite final class ResourceLimitsTests: SceneSuite {
  #if os(Linux)
    // Fails if the threads are left to Dispatch: it waits forever for one that cannot be started,
    // and receives no signals meanwhile.
    @Test(
      "run fails with a message, and queues nothing, if it cannot start threads",
      .shows(OnDisk.failuresChangeNothing), .needs(.setpriv, .bash),
      .needsOtherUser)
    func threads() throws {
      // Not the user of another test: the limit counts all processes of the user.
      let user = try OtherUser(65_529, owning: scene)
      let limited = "exec /bin/bash -c 'ulimit -u 3; exec serialq run echo one'"
      let outcome = try user.script(limited)
      expectRefusal(
        outcome, "starting a thread: Resource temporarily unavailable (pthread_create)")
      #expect(outcome.errorText.contains("\nRaise the limit on processes with ulimit -u, or end"))
      #expect(try user.script("serialq list").text == "")
      // A sanitizer does not start within such a limit.
      guard !isSanitized else { return }
      let both = try user.script(
        "exec /bin/bash -c 'ulimit -v 9999999; ulimit -u 3; exec serialq run echo one'")
      let advice = "Raise the limit on memory with ulimit -v, or that on processes with ulimit -u"
      #expect(both.errorText.contains(advice))
    }

    // Fails if nothing but its log says why a background runner has ended.
    @Test(
      "status says why no runner is active", .needs(.setpriv, .bash),
      .needsOtherUser)
    func statusOfThreads() throws {
      let user = try OtherUser(65_528, owning: scene)
      let added = try user.script("exec /bin/bash -c 'ulimit -u 4; exec serialq add echo one'")
      #expect(added.code == 0)
      let said = "No runner is active. The last one said: serialq: starting a thread: Resource"
      try waitUntil("the reason", watching: [scene.queueFolder().path]) {
        try user.script("serialq status").text.contains(said)
      }
      #expect(try user.script("serialq start && serialq wait").code == 0)
    }

    // Fails if the end of a job, or of the runner, needs a thread that cannot be started.
    @Test(
      "a job can be cancelled, and a runner stopped, that can start no thread",
      .needs(.setpriv), .needsOtherUser, arguments: [false, true])
    func withoutThreads(stopsRunner: Bool) throws {
      let user = try OtherUser(stopsRunner ? 65_527 : 65_526, owning: scene)
      // A child that outlives the first signal, which ends the shell. It waits: a `sleep` that is
      // just being started can miss the signal, and the shell would call the trap only at its end.
      let child = "trap \"touch told\" TERM; touch begun; while :; do sleep 1000 & wait; done"
      #expect(try user.script("serialq add '(\(child)) & wait'").code == 0)
      try waitUntil("the child", watching: [scene.work]) { try scene.fileNames().contains("begun") }
      let runner = "$(head -n 1 '\(scene.spool.text)/default/runner.lock')"
      let (first, second) =
        stopsRunner
        ? ("kill -TERM \(runner)", "kill -TERM \(runner)")
        : ("serialq cancel 1", "serialq cancel --signal KILL 1")
      #expect(try user.script("prlimit --pid \(runner) --nproc=1:; \(first)").code == 0)
      try waitUntil("the signal", watching: [scene.work]) { try scene.fileNames().contains("told") }
      let outcome = try user.script("\(second) && serialq wait 1")
      #expect(outcome.errorText.contains(stopsRunner ? "was interrupted" : "was cancelled"))
    }

    // Fails if a pipe or a thread of the check stays open.
    @Test("the check for threads leaves nothing behind")
    func check() throws {
      for _ in 0..<3_000 { try StartedThread.require(1) }
    }
  #endif

  // Fails if SIGXFSZ ends the program without a message, or half a line stays in the journal.
  @Test(
    "an add beyond the limit on file sizes is refused with a message, and changes nothing",
    .shows(OnDisk.failuresChangeNothing),
    .enabled(if: !isSanitized, "a sanitizer does not start within such a limit"))
  func fileSize() throws {
    try scene.add("echo one")
    let before = try scene.journal()
    let long = "\"$(head -c 3000 /dev/zero | tr '\\0' x)\""
    let outcome = try scene.script("ulimit -f 1; serialq add --no-start echo \(long)")
    expectRefusal(outcome, "writing \(scene.spool.text)/default/")
    #expect(outcome.errorText.contains(": File too large (write)\n"))
    #expect(outcome.errorText.contains("ulimit -f"))
    #expect(try scene.journal() == before)
    try scene.add("echo two")
    #expect(try scene.serialq("run").text == "one\ntwo\n")
  }

  #if os(Linux)
    // Fails if the job fails, counts an attempt, is started beside its cancellation, or the reason
    // is missing.
    @Test(
      "a job waits while no process can be started, says so, and runs when one can",
      .needs(.cc), .ifFaultsCanBeMade, arguments: [[], ["--tty"]])
    func shortage(options: [String]) throws {
      let library = try PreloadedLibrary(
        "shortage-\(options.count)",
        """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <spawn.h>
        #include <stdlib.h>
        #include <unistd.h>
        int posix_spawn(pid_t *restrict pid, const char *restrict path,
                        const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *restrict attributes,
                        char *const arguments[restrict], char *const environment[restrict]) {
          if (access(getenv("SHORTAGE"), F_OK) == 0) return EAGAIN;
          __typeof__(&posix_spawn) spawn = (__typeof__(&posix_spawn))dlsym(RTLD_NEXT, "posix_spawn");
          return spawn(pid, path, actions, attributes, arguments, environment);
        }
        """)
      try write([], to: scene.path("shortage"))
      for line in ["echo one", "echo two"] {
        #expect(try scene.serialq(["add", "--no-start"] + options + [line]).code == 0)
      }
      let shortage = [try library.variable(in: scene), Bytes("SHORTAGE=") + scene.path("shortage")]
      let run = try scene.start("run") { $0.environment += shortage }
      let reason = "Resource temporarily unavailable"
      try run.waitForErrors("serialq: cannot start job 1 yet: ")
      let wait = try scene.start("wait", "2").waitForErrors("serialq: cannot start job ")
      #expect(wait.errors.text.contains(reason) && run.errors.text.contains(reason))
      let queue = try scene.queueFolder().path
      try waitUntil("job 1 to wait", watching: [queue]) { try scene.states()[0] == .waiting }
      #expect(try scene.serialq("cancel", "1").code == 0)
      try run.waitForErrors("serialq: cannot start job 2 yet: ")
      #expect(try scene.serialq("show", "2").text.contains(reason))
      #expect(try scene.serialq("status").text.contains("\(reason), since 2"))
      try FileSystem.remove(scene.path("shortage"))
      #expect(try run.wait().text.hasPrefix("two"))
      #expect(try wait.wait().code == 0)
      #expect(try scene.states() == [.cancelled, .succeeded])
      #expect(try scene.queue().jobs.map(\.attempts) == [0, 1])
      #expect(try FileSystem.names(in: scene.queueFolder().locks).isEmpty)
    }

    /// A runner of two jobs that may have so many descriptors from now on; the gate ends the first.
    private func limitedRunner(_ count: UInt) throws -> Int32 {
      #expect(try scene.serialq("add", "read x <gate").code == 0)
      #expect(try scene.serialq("add", "echo two").code == 0)
      _ = try scene.waitForProcess(of: 1)
      let runner = try scene.waitForRunner()
      scene.limitDescriptors(of: runner, to: count)
      return runner
    }

    // Fails if the number of the lock counts as wrong, not as more than the runner may have now.
    @Test("a job waits while its runner may not have the descriptors that it needs")
    func fewerDescriptors() throws {
      let runner = try limitedRunner(40)
      try gate.open()
      let wait = try scene.start("wait", "2").waitForErrors("cannot start job 2 yet: ")
      #expect(wait.errors.text.contains("Too many open files"))
      scene.limitDescriptors(of: runner, to: 1_024)
      #expect(try wait.wait().code == 0 && scene.queue().jobs.map(\.attempts) == [1, 1])
    }

    // Fails if the runner ends when it cannot open the journal's lock: the job would be
    // interrupted.
    @Test("the result of a job is kept while its runner may open no file")
    func noDescriptors() throws {
      let runner = try limitedRunner(8)
      try gate.open()
      let queue = try scene.queueFolder()
      // The first call to fail may be that which prepares to wait for the job: its process is known
      // before.
      let said = /: Too many open files \([a-z0-9]+\); trying again/
      try waitUntil("the shortage", watching: [queue.path]) {
        try content(queue.runnerLog).text.contains(said)
      }
      #expect(try scene.states() == [.running, .waiting])
      scene.limitDescriptors(of: runner, to: 1_024)
      #expect(try scene.serialq("wait", "2").code == 0)
      #expect(try scene.states() == [.succeeded, .succeeded])
      // It may end at any time now, but no other one may have taken its place.
      #expect(try [nil, runner].contains(scene.runner()))
    }

    // Fails if an orphan counts as gone, or the runner ends, because its processes cannot be
    // searched for.
    @Test(
      "an orphan is waited for while its processes cannot be found",
      .shows(Running.orphans), .needs(.cc), .ifFaultsCanBeMade)
    func orphan() throws {
      let library = try PreloadedLibrary(
        "blind",
        """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <stdlib.h>
        #include <string.h>
        #include <unistd.h>
        int open(const char *path, int flags, ...) {
          if (strstr(path, "/fdinfo/") && access(getenv("SHORTAGE"), F_OK) == 0) {
            write(2, "blind\\n", 6);
            errno = ENFILE;
            return -1;
          }
          __typeof__(&open) real = (__typeof__(&open))dlsym(RTLD_NEXT, "open");
          return real(path, flags, 0600);
        }
        """)
      try scene.addRunning("exec sh -c 'echo up; read x <gate; echo one >>rec'", until: "up")
      #expect(try scene.serialq("add", "--no-start", "echo two >>rec").code == 0)
      let runner = try scene.waitForRunner()
      kill(runner, SIGKILL)
      try scene.waitForNoRunner()
      try write([], to: scene.path("shortage"))
      let shortage = [try library.variable(in: scene), Bytes("SHORTAGE=") + scene.path("shortage")]
      let run = try scene.start("run") { $0.environment += shortage }
      try run.waitForErrors("serialq cancel 1\nblind\nblind\nblind")
      #expect(try scene.states() == [.running, .waiting])
      try FileSystem.remove(scene.path("shortage"))
      try gate.open()
      _ = try run.wait()
      #expect(try content(scene.path("rec")).text == "one\ntwo\n")
    }
  #endif

  // Fails if the error is ignored, or leaves a partial file.
  @Test(
    "a page that cannot be written is a failure, and leaves nothing",
    .enabled(if: !isSanitized, "a sanitizer does not start within such a limit"))
  func unwritable() throws {
    try scene.add("true")
    // A limit that the page exceeds: the write fails half way.
    let limited = "trap '' XFSZ; printf old >page; ulimit -f 1; serialq report --html page"
    #expect(try scene.script(limited).code == 125)
    #expect(try content(scene.path("page")).text == "old")
    #expect(try scene.fileNames() == ["page"])
  }
}
