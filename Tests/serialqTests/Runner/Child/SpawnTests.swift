@testable import SerialqRunner
import SerialqSystem
import Testing

/// Serialized, because a spawn briefly changes the umask of the whole test process.
@Suite(.serialized) struct SpawnTests {
  // Fails if an argument passes through a shell or is converted to text.
  @Test("arguments arrive byte for byte")
  func arguments() throws {
    let words: [Bytes] = [
      Bytes("a b"), Bytes("'\""), Bytes("a\nb\n"), Bytes("$HOME"), Bytes("*"), [], Bytes("é日"),
      [0xFF, 0xC3, 0x01], Bytes("-x"), Bytes("\\"), [],
    ]
    var job = try TestJob()
    job.process.command = .arguments([Bytes("/usr/bin/printf"), Bytes("%s\\0")] + words)
    #expect(try job.run() == .exited(0))
    let arrived = try job.output().split(separator: 0, omittingEmptySubsequences: false)
    #expect(arrived.dropLast().map { Bytes($0) } == words)
  }

  // Fails if the runner's own environment is inherited, or a value is converted to text.
  @Test("the environment is exactly the given one")
  func environment() throws {
    var job = try TestJob()
    let variables: [Bytes] = [Bytes("B= x\ny"), Bytes("A=") + [0xFF], Bytes("C=")]
    job.process.environment = variables
    job.process.command = .arguments([Bytes("/usr/bin/env"), Bytes("-0")])
    #expect(try job.run() == .exited(0))
    #expect(try job.output().split(separator: 0).map { Bytes($0) } == variables)
  }

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

  // Fails if standard error is not redirected, or the two have separate file offsets.
  @Test("standard output and standard error go to the same place, in order")
  func output() throws {
    let job = try TestJob("echo a; echo b >&2; echo c")
    #expect(try job.run() == .exited(0))
    #expect(try job.output() == Bytes("a\nb\nc\n"))
  }

  #if os(Linux)
    // Fails if the file actions do not close the other descriptors.
    @Test("a job inherits no descriptor except 0, 1, 2 and the lock")
    func descriptors() throws {
      var job = try TestJob()
      // Simulates an inheritable descriptor of the parent; 200 is beyond the lock's number.
      let stray = dup(job.log.raw)
      let strayAbove = fcntl(job.log.raw, F_DUPFD, 200)
      defer {
        close(stray)
        close(strayAbove)
      }
      job.process.command = .arguments([Bytes("/bin/ls"), Bytes("/proc/self/fd")])
      #expect(try job.run() == .exited(0))
      let numbers = try job.output().split(separator: UInt8(ascii: "\n")).map { Bytes($0).text }
      // 3 is the folder that ls itself opens to list it.
      #expect(Set(numbers) == ["0", "1", "2", "3", "63"])
    }

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
    defer { close(lock) }
    #expect(flock(lock, LOCK_EX | LOCK_NB) == -1)
    #expect(try child.signalGroup(SIGKILL))
    try child.waitUntilEnded()
    #expect(try child.reap() == .killed(SIGKILL))
    #expect(flock(lock, LOCK_EX) == 0)
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

  // Fails if the status is decoded wrongly.
  @Test("death by signal is distinguished from a normal exit")
  func killed() throws {
    var job = try TestJob("kill -TERM $$")
    #expect(try job.run() == .killed(SIGTERM))
    job = try TestJob("exit 143")
    #expect(try job.run() == .exited(143))
  }
}
