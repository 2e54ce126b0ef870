@testable import SerialqRunner
import SerialqSystem
import Testing

/// Serialized, because a spawn briefly changes the umask of the whole test process.
@Suite(.serialized) struct SpawnTests {
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
}
