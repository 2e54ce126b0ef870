import Testing

@testable import SerialqSystem

@Suite struct PollTests {
  // Fails if a closed descriptor without interest ends every wait at once: the process would spin.
  @Test("the end of a descriptor ends the wait only for those that wait for something")
  func closed() throws {
    // Shut down instead of closed: a process that a concurrent test spawns may have it open a
    // moment longer.
    let ends = try socketPair()
    defer { for end in ends { close(end) } }
    #expect(send(ends[1], "x", 1, 0) == 1)
    #expect(shutdown(ends[1], Int32(SHUT_RDWR)) == 0)
    #expect(try waitForReadiness([(ends[0], .none)], until: 0) == [Readiness()])
    #expect(
      try waitForReadiness([(ends[0], .read)], until: nil)
        == [Readiness(canRead: true, isClosed: true)])
  }

  #if os(Linux)
    // Fails if the handle is closed during the wait, which then is for any file that gets its
    // number.
    @Test("a wait for a process that lives on ends at its deadline, with nothing else to hold it")
    func process() throws {
      #expect(try ProcessHandle(Machine.processID()).waitForEnd(until: 0) == false)
    }
  #endif
}
