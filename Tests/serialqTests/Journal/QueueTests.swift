import Testing

@testable import serialq

@Suite struct QueueTests {
  private let now = Timestamp(microseconds: 5)

  private func queue(_ events: Event...) -> Queue {
    var queue = Queue()
    for event in events { queue.apply(event) }
    return queue
  }

  private func ended(_ id: JobID, _ how: Ending, cancelled: Bool = false) -> Event {
    .ended(id: id, at: now, duration: 1, how: how, cancelled: cancelled)
  }

  private func started(_ id: JobID, _ attempt: Int = 1) -> Event {
    .started(id: id, attempt: attempt, at: now, boot: Bytes("b"))
  }

  // Fails when an ending is given another state: make a signal a failure.
  @Test("A job ends in the state that its ending says")
  func endings() {
    func state(_ end: Event) -> JobState? { queue(added(1), started(1), end).job(1)?.state }
    #expect(state(ended(1, .exited(0))) == .succeeded)
    #expect(state(ended(1, .exited(1))) == .failed)
    #expect(state(ended(1, .cannotRun(127, reason: []))) == .failed)
    #expect(state(ended(1, .killed(15))) == .killed)
    #expect(state(ended(1, .killed(15), cancelled: true)) == .cancelled)
    #expect(state(.interrupted(id: 1, at: now)) == .interrupted)
    #expect(queue(added(1), .cancelled(id: 1, at: now)).job(1)?.state == .cancelled)
  }

  // Fails when an end without a start is left out: the job would run a second time.
  @Test("What shows that a job ran counts, although its start is lost")
  func lostStart() {
    #expect(queue(added(1), ended(1, .exited(0))).firstWaiting == nil)
    #expect(queue(added(1), .spawned(id: 1, pid: 7)).running == [1])
    #expect(queue(added(1), .interrupted(id: 1, at: now)).job(1)?.state == .interrupted)
  }

  // Fails when a start takes the place of a running job: the one whose end is lost would be
  // forgotten.
  @Test("A job whose end is lost stays visible as running")
  func lostEnd() {
    let queue = queue(added(1), added(2), started(1), started(2))
    #expect(queue.running == [1, 2])
    #expect(queue.count(.running) == 2)
  }

  // Fails when an event of the past wakes a job: accept a start of the same attempt.
  @Test("What cannot follow is left out and changes nothing")
  func impossible() {
    let before = queue(added(1), started(1), ended(1, .exited(0)))
    let events: [Event] = [
      started(1), started(9), ended(1, .killed(9)), ended(9, .exited(0)),
      .spawned(id: 1, pid: 2), .interrupted(id: 1, at: now), .cancelled(id: 1, at: now), added(1),
    ]
    for event in events {
      var after = before
      let counted = after.apply(event)
      #expect(!counted)
      #expect(after == before)
    }
  }

  // Fails when a count or the first waiting job is not kept up to date in one of the moves.
  @Test("Counts and the first waiting job follow from the jobs", arguments: 1...20)
  func invariants(seed: UInt64) {
    var generator = SeededGenerator(state: seed)
    var queue = Queue()
    // Any event, sensible or not.
    for _ in 0..<300 {
      let id = Int.random(in: 1...20, using: &generator)
      let events: [Event] = [
        added(id), started(id, Int.random(in: 1...3, using: &generator)), .spawned(id: id, pid: 3),
        ended(id, .exited(0)), .interrupted(id: id, at: now), .cancelled(id: id, at: now),
      ]
      if let event = events.randomElement(using: &generator) { queue.apply(event) }
      for state in JobState.allCases {
        #expect(queue.count(state) == queue.jobs.count { $0.state == state })
      }
      #expect(queue.firstWaiting == queue.jobs.first { $0.state == .waiting })
      #expect(Set(queue.running) == Set(queue.jobs.filter { $0.state == .running }.map(\.id)))
      #expect(queue.jobs.map(\.id) == queue.jobs.map(\.id).sorted())
      #expect(queue.nextID > queue.jobs.last?.id ?? 0)
    }
  }

  // Fails when a field is added that most jobs do not need: put it in `Run`.
  @Test("A job is small")
  func small() {
    #expect(MemoryLayout<Job>.stride <= 72)
  }
}
