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
      let user = OtherUser(65_529, scene)
      try user.own()
      let limited = "exec /bin/bash -c 'ulimit -u 3; exec serialq run echo one'"
      let outcome = try user.script(limited)
      expectRefusal(
        outcome, "starting a thread: Resource temporarily unavailable (pthread_create)")
      #expect(outcome.errorText.contains("ulimit -u"))
      #expect(try user.script("serialq list").text == "")
    }

    // Fails if a pipe or a thread of the check stays open.
    @Test("the check for threads leaves nothing behind")
    func check() throws {
      for _ in 0..<3_000 { try Machine.requireThreads(1) }
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

  // Fails if the process ends by SIGSEGV.
  @Test("a stack that is too small is refused")
  func stack() throws {
    let run = try scene.serialq("run", "true") { $0.prelude = "ulimit -s 32" }
    #expect(run.code == 125 && run.errorText.contains("the stack: its limit of 32 KB is too small"))
  }

  // Fails if a job inherits the ignored signal.
  @Test("a job beyond the limit on file sizes is killed by SIGXFSZ")
  func job() throws {
    let run = try scene.serialq("run", "ulimit -f 1; exec head -c 100000 /dev/zero >file")
    #expect(run.code == 128 + SIGXFSZ)
    #expect(try scene.queue().job(1)?.ending == .killed(SIGXFSZ))
  }
}
