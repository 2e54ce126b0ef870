@testable import SerialqQueue
import SerialqSystem
import Testing

@testable import SerialqRunner

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

  // Fails if a launcher is killed before it could end its job.
  @Test(
    "a launcher receives SIGTERM first, whatever is requested, and SIGKILL after its grace period")
  func launcher() {
    let grace = Termination.launcherGrace
    var termination = Termination(isLauncher: true)
    #expect(termination.signals(requests: [SIGKILL], stop: .no, now: 0) == [SIGTERM])
    #expect(termination.signals(requests: [SIGKILL, SIGINT], stop: .no, now: 1) == [SIGINT])
    #expect(termination.nextDue(canGiveUp: true) == grace)
    #expect(termination.signals(requests: [SIGKILL, SIGINT], stop: .atOnce, now: 2) == [SIGTERM])
    #expect(
      termination.signals(requests: [SIGKILL, SIGINT], stop: .atOnce, now: grace) == [SIGKILL])
  }

  // Fails if the limit of a job that is ended, or that only a busy machine delayed, counts.
  @Test("a time limit that passed while the runner did not run is noticed, once")
  func delay() {
    let second: Int64 = 1_000_000_000
    var termination = Termination(timeLimit: 100)
    #expect(termination.delay(now: 99) == nil && termination.delay(now: 100 + second) == nil)
    #expect(termination.delay(now: 200 + 3 * second) == 100 + 3 * second)
    #expect(termination.signals(requests: [], stop: .no, now: 100 + 3 * second) == [SIGTERM])
    #expect(termination.delay(now: 200 + 3 * second) == nil)
  }

  private let since = Timestamp(microseconds: 1)

  // Fails if a job that is being ended is stopped, and misses its grace period.
  @Test("a job that is being ended is neither suspended nor continued")
  func endsSuspended() {
    var requests = JobStatus.Running()
    requests.suspension = Suspension(since: since, uptime: 40)
    var termination = Termination()
    _ = termination.signals(requests, stop: .no, now: 40)
    #expect(termination.signals(requests, stop: .inOrder, now: 41) == [SIGTERM])
    requests.suspension = Suspension(earlier: 2)
    #expect(termination.signals(requests, stop: .inOrder, now: 42) == [])
    requests.requests = [SIGINT]
    requests.suspension = Suspension(since: since, uptime: 43, earlier: 2)
    #expect(termination.signals(requests, stop: .inOrder, now: 43) == [SIGINT])
    #expect(termination.signals(requests, stop: .inOrder, now: 41 + grace) == [SIGKILL])
  }

  // Fails if the sum overflows.
  @Test("a suspension of any length moves the time limit")
  func longSuspension() {
    #expect(Suspension(since: since, uptime: 9).total(at: 5) == 0)
    var requests = JobStatus.Running()
    requests.suspension = Suspension(earlier: .max)
    var termination = Termination(timeLimit: 100)
    #expect(termination.signals(requests, stop: .no, now: 100) == [SIGCONT])
    #expect(termination.nextDue(canGiveUp: true) == nil)
  }
}

extension Termination {
  fileprivate mutating func signals(requests: [Int32], stop: Stop, now: Int64) -> [Int32] {
    var running = JobStatus.Running()
    running.requests = requests
    return signals(running, stop: stop, now: now)
  }
}
