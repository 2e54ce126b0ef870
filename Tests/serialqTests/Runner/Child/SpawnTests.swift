@testable import SerialqRunner
import SerialqSystem
import Testing

/// Serialized, because a spawn briefly changes the umask of the whole test process.
@Suite(.serialized) struct SpawnTests {
  // Fails if the file action for the directory, or the umask around the call, is dropped.
  @Test("directory and umask are the job's, and the umask of the parent is restored")
  func directoryAndUmask() throws {
    let before = currentUmask()
    var job = try TestJob("pwd; umask; cat")
    job.process.directory = Bytes("/usr/bin")
    // Leaves the owner's bits: concurrent tests create folders and use them.
    job.process.umask = 0o037
    #expect(try job.run() == .exited(0))
    #expect(try job.output() == Bytes("/usr/bin\n0037\n"))
    #expect(currentUmask() == before)
  }

  #if os(Linux)
    // Fails if the output is duplicated after the lock.
    @Test("an output on descriptor 63 is not overwritten by the lock")
    func outputAtTheLocksNumber() async {
      // In a separate process: here the number may be a descriptor of a concurrent test.
      await #expect(processExitsWith: .success) {
        var job = try TestJob("echo a")
        try #require(dup2(job.log.raw, 63) == 63)
        job.process.streams = .files(input: nil, output: FileDescriptor(owning: 63))
        #expect(try job.run() == .exited(0))
        #expect(try job.output() == Bytes("a\n"))
      }
    }

    // Fails if SETSIGDEF or SETSIGMASK is dropped from the flags.
    @Test("signals have their default action and are unblocked, regardless of the parent")
    func signals() throws {
      let previous = signal(SIGUSR1, SIG_IGN)
      var (blocked, before) = (sigset_t(), sigset_t())
      sigemptyset(&blocked)
      sigaddset(&blocked, SIGTERM)
      pthread_sigmask(SIG_BLOCK, &blocked, &before)
      defer {
        pthread_sigmask(SIG_SETMASK, &before, nil)
        signal(SIGUSR1, previous)
      }
      var job = try TestJob()
      job.process.command = .arguments([Bytes("cat"), Bytes("/proc/self/status")])
      #expect(try job.run() == .exited(0))
      let lines = try job.output().text.split(separator: "\n")
      #expect(lines.contains("SigBlk:\t0000000000000000"))
      #expect(lines.contains("SigCgt:\t0000000000000000"))
      let ignored = lines.first { $0.hasPrefix("SigIgn:\t") }.flatMap {
        UInt64($0.dropFirst(8), radix: 16)
      }
      // Also 32 and 33: glibc would ignore them, because it reserves them for threads.
      #expect(ignored == 0)
    }
  #endif

  // Fails if SETSID is dropped, or only the process is signalled: the grandchild then keeps the
  // lock, and this test blocks.
  @Test("a job leads its own session and group, and its processes hold the lock until all are dead")
  func group() throws {
    var job = try TestJob("sleep 1000 & echo started; wait")
    let child = try job.start()
    #expect(getpgid(child.pid) == child.pid && getsid(child.pid) == child.pid)
    // From here on only the job's processes hold the lock.
    job.process.lock = nil
    let lock = try job.openLock()
    #expect(flock(lock.raw, LOCK_EX | LOCK_NB) == -1)
    #expect(try child.signalGroup(SIGKILL))
    try child.waitUntilEnded()
    #expect(try child.reap() == .killed(SIGKILL))
    #expect(flock(lock.raw, LOCK_EX) == 0)
  }

  // Fails if WNOWAIT is dropped: the process is then already reaped.
  @Test("detecting an exit does not reap the process")
  func noticing() throws {
    let job = try TestJob("exit 3")
    let child = try job.start()
    try child.waitUntilEnded()
    try child.waitUntilEnded()
    #expect(kill(child.pid, 0) == 0)
    #expect(try child.reap() == .exited(3))
    #expect(throws: Failure.self) { try child.reap() }
  }
}
