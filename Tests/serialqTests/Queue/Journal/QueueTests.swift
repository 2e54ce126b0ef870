@testable import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

@Suite struct QueueTests {
  private let now = Timestamp(microseconds: 5)

  private func ended(_ id: JobID, _ how: Ending, _ cause: EndCause = .itself) -> Event {
    .ended(id: id, at: now, duration: 1, how: how, cause: cause)
  }

  private func started(_ id: JobID, _ attempt: Int = 1) -> Event {
    .started(id: id, attempt: attempt, at: now, boot: Bytes("b"))
  }

  // Fails when an ending has another state: make a signal a failure.
  @Test("The state of a job follows from its ending")
  func endings() {
    func state(_ end: Event) -> JobState? { queue(added(1), started(1), end).job(1)?.state }
    #expect(state(ended(1, .exited(0))) == .succeeded)
    #expect(state(ended(1, .exited(1))) == .failed)
    #expect(state(ended(1, .cannotRun(127, reason: []))) == .failed)
    #expect(state(ended(1, .killed(15))) == .killed)
    #expect(state(ended(1, .killed(15), .cancelled)) == .cancelled)
    #expect(state(.interrupted(id: 1, at: now)) == .interrupted)
    #expect(queue(added(1), .cancelled(id: 1, at: now)).job(1)?.state == .cancelled)
  }

  // Fails when an end without a start is ignored: the job would run a second time.
  @Test("An event that proves that a job ran counts, although its start is lost")
  func lostStart() {
    #expect(queue(added(1), ended(1, .exited(0))).firstWaiting == nil)
    #expect(queue(added(1), .spawned(id: 1, pid: 7)).running == [1])
    #expect(queue(added(1), .interrupted(id: 1, at: now)).job(1)?.state == .interrupted)
  }

  // Fails when a start replaces a running job: the one whose end is lost would be forgotten.
  @Test("A job whose end is lost is still listed as running")
  func lostEnd() {
    let queue = queue(added(1), added(2), started(1), started(2))
    #expect(queue.running == [1, 2])
    #expect(queue.count(.running) == 2)
  }

  // Fails when a past event restarts a job: accept a start of the same attempt.
  @Test("Impossible events are ignored and change nothing")
  func impossible() {
    let before = queue(added(1), started(1), ended(1, .exited(0)))
    let events: [Event] = [
      started(1), started(9), ended(1, .killed(9)), ended(9, .exited(0)),
      .spawned(id: 1, pid: 2), .interrupted(id: 1, at: now), .cancelled(id: 1, at: now), added(1),
      .suspended(id: 1, at: now, uptime: 1), .continued(id: 1, at: now, uptime: 2),
      .asked(id: 1, at: now, question: Question(.input, [])), .asked(id: 1, at: now, question: nil),
      .unlogged(id: 9, reason: []),
    ]
    for event in events {
      var after = before
      let counted = after.apply(event)
      #expect(!counted)
      #expect(after == before)
    }
  }

  // Fails when a suspension is counted twice, survives the attempt, or keeps a job from using the
  // grace period of its cancellation.
  @Test("A suspension lasts until the job is continued or ends, and does not count as running")
  func suspension() {
    func suspended(_ uptime: Int64) -> Event { .suspended(id: 1, at: now, uptime: uptime) }
    func continued(_ uptime: Int64) -> Event { .continued(id: 1, at: now, uptime: uptime) }
    let start = Event.started(id: 1, attempt: 1, at: now, boot: Bytes("b"), uptime: 100)
    let clock = ClockReading(date: now, monotonic: 200, boot: Bytes("b"))
    let suspension = queue(
      added(1), start, continued(105), suspended(110), suspended(120), continued(130),
      continued(140), suspended(150))
    #expect(suspension.job(1)?.running(clock) == 30)
    #expect(suspension.suspended.map(\.id) == [1] && suspension.running == [1])
    var ending = suspension
    let isContinued = ending.apply(continued(160))
    #expect(isContinued)
    #expect(ending.job(1)?.running(clock) == 70 && ending.suspended.isEmpty)
    ending.apply(.cancelling(id: 1, at: now, signal: 15))
    let isSuspended = ending.apply(suspended(170))
    #expect(!isSuspended)
    var again = suspension
    again.apply(ended(1, .exited(1)))
    again.apply(.retried(Retry(id: 1, at: now, attempts: 1)))
    again.apply(.started(id: 1, attempt: 2, at: now, boot: Bytes("b"), uptime: 200))
    #expect(again.suspended.isEmpty && again.job(1)?.running(clock) == 0)
  }

  // Fails when a count, the order or the acknowledgements are not updated in one of the
  // transitions.
  @Test(
    "Counts and order match the jobs after any event", .shows(OnDisk.replay),
    arguments: 1...40)
  func invariants(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var queue = Queue()
    // Any event, valid or not.
    for _ in 0..<400 {
      let id = Int.random(in: 1...20, using: &generator)
      let other = Int.random(in: 1...20, using: &generator)
      let place =
        [Place.last, .first, .before(other), .after(other)]
        .randomElement(using: &generator) ?? .last
      var new = newJob(id)
      new.place = place
      // Also itself, later jobs, and jobs that do not exist.
      new.limits.after = [min(id, other)...max(id, other)]
      var options = EditedOptions(
        context: new.payload.context, label: Bytes("x"), limits: new.limits)
      options.isFree = other % 2 == 0
      let events: [Event] = [
        .added(new), started(id, Int.random(in: 1...3, using: &generator)),
        .spawned(id: id, pid: 3), ended(id, .exited(0)), ended(id, .exited(1)),
        .interrupted(id: id, at: now), .cancelled(id: id, at: now),
        .cancelling(id: id, at: now, signal: 2), .skipped(id: id, at: now, because: other),
        .moved(id: id, at: now, place: place), .acknowledged(id: id, at: now),
        .retried(Retry(id: id, at: now, attempts: other % 4, place: place)),
        .forgotten(ids: [min(id, other)...max(id, other)], at: now),
        .edited(id: id, at: now, command: .shell([])),
        .edited(id: id, at: now, command: .shell([]), options: options),
        .suspended(id: id, at: now, uptime: Int64(id)),
        .continued(id: id, at: now, uptime: Int64(other)), .paused(at: now, because: id),
        .resumed(at: now), .hookFailed(id: id, at: now, how: .exited(1)),
        .hookFailed(id: nil, at: now, how: .exited(1)), .counted(Results(), at: now),
        .asked(id: id, at: now, question: Question(.input, [])),
        .asked(id: id, at: now, question: nil), .unlogged(id: id, reason: Bytes("full")),
        .set(.terminal(other % 2 == 0), at: now),
      ]
      if let event = events.randomElement(using: &generator) {
        let before = queue
        let isUnchanged = queue.apply(event) || queue == before
        #expect(isUnchanged, "\(event)")
      }
      let isConsistent = queue.isConsistent
      #expect(isConsistent)
    }
  }

  // Fails when a field is added that most jobs do not need: put it in `Run`.
  @Test("A job takes at most 72 bytes")
  func small() {
    #expect(MemoryLayout<Job>.stride <= 72)
  }
}
