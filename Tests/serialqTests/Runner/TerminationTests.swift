import Testing

@testable import SerialqRunner

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Which signals a job is sent, and when.
@Suite struct TerminationTests {
  private let grace = Termination.grace

  // Fails if a request is answered twice, or the grace begins again with the second.
  @Test("a request sends its signal once, and SIGKILL when the grace is over")
  func cancel() {
    var termination = Termination()
    #expect(termination.signals(requests: [], stop: .no, now: 0) == [])
    #expect(termination.nextDue(canGiveUp: true) == nil && termination.cause == .itself)
    #expect(termination.signals(requests: [SIGINT], stop: .no, now: 1) == [SIGINT])
    #expect(termination.signals(requests: [SIGINT], stop: .no, now: 2) == [])
    #expect(termination.signals(requests: [SIGINT, SIGTERM], stop: .no, now: 9) == [SIGTERM])
    #expect(termination.nextDue(canGiveUp: true) == 1 + grace && termination.cause == .cancelled)
    #expect(
      termination.signals(requests: [SIGINT, SIGTERM], stop: .no, now: 1 + grace) == [SIGKILL])
    #expect(termination.signals(requests: [SIGINT, SIGTERM], stop: .no, now: 2 + grace) == [])
    #expect(!termination.isGivenUp(now: 2 + grace))
    // In the past for ever: who could not give up would not sleep again.
    #expect(termination.nextDue(canGiveUp: true) == 1 + grace + Termination.patience)
    #expect(termination.nextDue(canGiveUp: false) == nil)
    #expect(termination.isGivenUp(now: 1 + grace + Termination.patience))
  }

  // Fails if a request for SIGKILL waits for the grace.
  @Test("SIGKILL that is asked for comes at once")
  func killed() {
    var termination = Termination()
    _ = termination.signals(requests: [SIGTERM], stop: .no, now: 0)
    #expect(termination.signals(requests: [SIGTERM, SIGKILL], stop: .no, now: 1) == [SIGKILL])
    #expect(termination.signals(requests: [SIGTERM, SIGKILL], stop: .no, now: grace) == [])
  }

  // Fails if the time limit counts for a job that is ending for another reason.
  @Test("a time limit ends the job, and says so unless it was cancelled before")
  func timeLimit() {
    var termination = Termination(timeLimit: 100)
    #expect(termination.nextDue(canGiveUp: true) == 100)
    #expect(termination.signals(requests: [], stop: .no, now: 99) == [])
    #expect(termination.signals(requests: [], stop: .no, now: 100) == [SIGTERM])
    #expect(termination.cause == .timedOut && termination.nextDue(canGiveUp: true) == 100 + grace)
    var cancelled = Termination(timeLimit: 100)
    _ = cancelled.signals(requests: [SIGTERM], stop: .no, now: 50)
    #expect(cancelled.signals(requests: [SIGTERM], stop: .no, now: 100) == [])
    #expect(cancelled.cause == .cancelled && cancelled.nextDue(canGiveUp: true) == 50 + grace)
  }

  // Fails if a stop of the runner is taken for a person's wish, or the second for the first.
  @Test("a stop ends the job in order, a second one at once")
  func stop() {
    var termination = Termination()
    #expect(termination.signals(requests: [], stop: .inOrder, now: 0) == [SIGTERM])
    #expect(termination.isStopped)
    #expect(termination.signals(requests: [], stop: .inOrder, now: 1) == [])
    #expect(termination.signals(requests: [], stop: .atOnce, now: 2) == [SIGKILL])
  }
}
