@testable import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

@Suite struct QueueTests {
  // Fails when an ending has another state: make a signal a failure.
  @Test("The state of a job follows from its ending")
  func endings() {
    func state(_ end: Act) -> JobState? { queue(.add(1), .start(1), end).job(1)?.state }
    #expect(state(.end(1, .exited(0))) == .succeeded)
    #expect(state(.end(1, .exited(1))) == .failed)
    #expect(state(.end(1, .cannotRun(127, reason: []))) == .failed)
    #expect(state(.end(1, .killed(15))) == .killed)
    #expect(state(.end(1, .killed(15), .cancelled)) == .cancelled)
    #expect(state(.interrupt(1)) == .interrupted)
    #expect(queue(.add(1), .cancel([1])).job(1)?.state == .cancelled)
  }

  // Fails when a line counts only if the one before it is there: the job would run a second time.
  @Test("Every line says how its job is, whichever line before it is lost")
  func lostLines() {
    var whole = Queue()
    let entries = whole.perform(
      .add(1), .start(1), .spawn(1, pid: 7), .end(1, .exited(1)), .retry([1]),
      .start(1), .spawn(1, pid: 8))
    for lost in 1..<entries.count - 1 {
      var queue = Queue()
      for (number, entry) in entries.enumerated() where number != lost { queue.apply(entry) }
      #expect(queue.job(1) == whole.job(1) && queue.running == [1], "without line \(lost + 1)")
    }
  }

  // Fails when a start replaces a running job: the one whose end is lost would be forgotten.
  @Test("A job whose end is lost is still listed as running")
  func lostEnd() {
    let queue = queue(.add(1), .add(2), .start(1), .start(2))
    #expect(queue.running == [1, 2])
    #expect(queue.count(.running) == 2)
  }

  // Fails when a change applies in a state in which it means nothing.
  @Test("A change that does not fit the state of a job changes nothing")
  func impossible() {
    let (clocks, question) = (moment(), Question(.input, []))
    let changes: [(String, on: Set<JobState>, (JobStatus) -> JobStatus?)] = [
      ("moved", [.waiting], { $0.moved(to: Rank(7)) }),
      ("started", [.waiting], { $0.started(at: clocks, hasTerminal: false) }),
      ("left", [.waiting], { $0.left(.cancelled, at: .test) }),
      ("spawned", [.running], { $0.spawned(2) }),
      ("requested", [.running], { $0.requested(15, at: clocks) }),
      ("suspended", [.running], { $0.suspended(at: clocks) }),
      ("continued", [], { $0.continued(at: clocks) }),
      ("asked", [.running], { $0.asked(question) }), ("answered", [], { $0.asked(nil) }),
      ("ended", [.running], { $0.ended(.interrupted(isStopped: false), at: .test) }),
      ("unlogged", [.running, .succeeded, .failed], { $0.unlogged([]) }),
      ("hook", [.succeeded, .failed], { $0.hookFailed(.exited(1)) }),
      ("acknowledged", [.failed], { $0.acknowledged() }),
      ("retried", [.succeeded, .failed], { $0.retried(Rank(7), isFree: true) }),
    ]
    let runs = [JobState.waiting, .running, .succeeded, .failed].compactMap {
      jobAfter(spec(), $0)
    }
    for (name, states, change) in changes {
      for job in runs {
        #expect((change(job.status) != nil) == states.contains(job.state), "\(name)")
      }
    }
    var queue = queue(.add(1))
    let before = queue
    queue.apply(.status(9, runs[1].status))
    #expect(queue == before)
  }

  // Fails when a suspension is counted twice, survives the attempt, or keeps a job from using the
  // grace period of its cancellation.
  @Test("A suspension lasts until the job is continued or ends, and does not count as running")
  func suspension() {
    func at(_ uptime: Int64) -> ClockReading { moment(monotonic: uptime) }
    func suspended(_ uptime: Int64) -> Act { .suspend(1, at: at(uptime)) }
    func continued(_ uptime: Int64) -> Act { .continue(1, at: at(uptime)) }
    let suspension = queue(
      .add(1), .start(1, at: at(100)), continued(105), suspended(110), suspended(120),
      continued(130), continued(140), suspended(150))
    #expect(suspension.job(1)?.running(at(200)) == 30)
    #expect(suspension.suspended.map(\.id) == [1] && suspension.running == [1])
    var ending = suspension
    let continuation = ending.perform(continued(160))
    #expect(continuation.count == 1)
    #expect(ending.job(1)?.running(at(200)) == 70 && ending.suspended.isEmpty)
    ending.perform(.request(1, 15, at: at(165)))
    let late = ending.perform(suspended(170))
    #expect(late.isEmpty)
    var again = suspension
    again.perform(.end(1, .exited(1)), .retry([1]), .start(1, at: at(200)))
    #expect(again.suspended.isEmpty && again.job(1)?.running(at(200)) == 0)
    // A request continues it, so that it receives the signal.
    var requested = suspension
    requested.perform(.request(1, 15, at: at(160)))
    #expect(requested.suspended.isEmpty && requested.job(1)?.isCancelRequested == true)
  }

  // Fails when a count, the order or the acknowledgements are not updated with one of the states.
  @Test(
    "Counts and order match the jobs after any line", .shows(OnDisk.replay),
    arguments: 1...(isLong ? 40 : 20))
  func invariants(seed: UInt64) {
    var random = RandomStates(seed: seed)
    var queue = Queue()
    // Also of jobs that do not exist, and states that no change leads to.
    for _ in 0..<400 {
      queue.apply(random.entry(of: random.int(1...20)))
      let isConsistent = queue.isConsistent
      #expect(isConsistent)
    }
  }

  // Fails when a field is added that most jobs do not need: put it in `Order.Details` or `Run`.
  @Test("A job takes at most 72 bytes, and a line about it 256")
  func small() {
    #expect(MemoryLayout<JobSpec>.size <= 48 && MemoryLayout<JobStatus>.size <= 240)
    #expect(MemoryLayout<Entry>.stride <= 256)
    #expect(MemoryLayout<Job>.stride <= 72)
  }
}
