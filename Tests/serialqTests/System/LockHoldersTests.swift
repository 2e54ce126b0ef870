import Testing

@testable import SerialqSystem

/// What `proc(5)` says about processes and their locks.
@Suite struct LockHoldersTests {
  // Fails if a name with spaces and parentheses moves the fields.
  @Test("a process is parsed whatever its name contains")
  func status() {
    let line = "4992 (a) b (c) S 10 4990 4980 0 -1 4194560 5 5 0 1 1 4 42 7 20 0 1 0 431 51 1"
    let process = ProcessStatus(line: Bytes(line.utf8))
    #expect(
      process
        == ProcessStatus(
          identity: ProcessStatus.Identity(pid: 4992, started: 431), name: Bytes("a) b (c"),
          parent: 10,
          group: 4990, session: 4980))
    // A zombie has no descriptors: as a hidden process, it would never be gone.
    #expect(ProcessStatus(line: Bytes(line.replacing(" S ", with: " Z ").utf8)) == nil)
    for damaged in ["", "4992", "4992 (a", "4992 (a) S 10", ") 1 ("] {
      #expect(ProcessStatus(line: Bytes(damaged.utf8)) == nil)
    }
  }

  // Fails if a suspended keeper is not continued at the end of its job, or a traced one is.
  @Test("a process that a signal stopped is suspended, and one that another process traces is not")
  func suspended() throws {
    for (state, isSuspended) in [("T", true), ("t", false), ("S", false)] {
      let line = "1 (a) \(state) 10 4990 4980 0 -1 4194560 5 5 0 1 1 4 42 7 20 0 1 0 431 51 1"
      #expect(try #require(ProcessStatus(line: Bytes(line.utf8))).isSuspended == isSuspended)
    }
  }

  // Fails if a process that waits for the end of a job, and then has its lock, counts as its
  // holder.
  @Test("only an exclusive lock that another process acquired is inherited")
  func inherited() {
    let end = "fe:00:16237508 0 EOF"
    for (line, expected) in [
      ("lock:\t1: FLOCK  ADVISORY  WRITE 4992 \(end)", true),
      ("lock:\t1: FLOCK  ADVISORY  WRITE 0 \(end)", true),
      ("lock:\t1: FLOCK  ADVISORY  WRITE 77 \(end)", false),
      ("lock:\t1: FLOCK  ADVISORY  READ 4992 \(end)", false),
      ("lock:\t1: POSIX  ADVISORY  WRITE 4992 \(end)", false), ("pos:\t0", false), ("", false),
    ] {
      #expect(LockFile.isInherited(Bytes(line.utf8), by: 77) == expected, "\(line)")
    }
  }

  #if os(Linux)
    // Fails if the time since boot has another unit or origin than the start of a process: a
    // command that a trap starts would receive SIGTERM.
    @Test("the start of this process lies before the present time, and after the boot")
    func ticks() throws {
      let own = try #require(ProcessStatus.of(Machine.processID()))
      #expect(own.identity.started > 0 && own.identity.started <= Machine.bootTicks())
      #expect(own.group == Machine.processGroup())
    }
  #endif
}
