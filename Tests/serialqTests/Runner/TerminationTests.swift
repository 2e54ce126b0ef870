import Testing

@testable import SerialqRunner
import SerialqSystem

/// Which signals are sent to a job, and when.
@Suite struct TerminationTests {
  private let grace = Termination.grace

  // Fails if a request is handled twice, or a second one restarts the grace period.
  @Test("a request sends its signal once, and SIGKILL after the grace period")
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
    // This time stays in the past: a caller that cannot give up would never sleep again.
    #expect(termination.nextDue(canGiveUp: true) == 1 + grace + Termination.patience)
    #expect(termination.nextDue(canGiveUp: false) == nil)
    #expect(termination.isGivenUp(now: 1 + grace + Termination.patience))
  }

  // Fails if a request for SIGKILL waits for the grace period.
  @Test("a request for SIGKILL is sent at once")
  func killed() {
    var termination = Termination()
    _ = termination.signals(requests: [SIGTERM], stop: .no, now: 0)
    #expect(termination.signals(requests: [SIGTERM, SIGKILL], stop: .no, now: 1) == [SIGKILL])
    #expect(termination.signals(requests: [SIGTERM, SIGKILL], stop: .no, now: grace) == [])
  }

  // Fails if the time limit applies to a job that is ending for another reason.
  @Test("a time limit ends the job, and is its reason unless the job was canceled before")
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

  // Fails if a stop of the runner is recorded as a cancel request, or the second stop acts as the
  // first.
  @Test("a first stop ends the job gracefully, a second one at once")
  func stop() {
    var termination = Termination()
    #expect(termination.signals(requests: [], stop: .inOrder, now: 0) == [SIGTERM])
    #expect(termination.isStopped)
    #expect(termination.signals(requests: [], stop: .inOrder, now: 1) == [])
    #expect(termination.signals(requests: [], stop: .atOnce, now: 2) == [SIGKILL])
  }
}
