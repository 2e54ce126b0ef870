import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

/// Jobs that run only if others succeeded.
@Suite struct RequirementTests {
  private let now = Timestamp(microseconds: 1_000_000_000)

  private func job(_ id: JobID, after ids: [JobID], ifOK: Bool = false) -> Event {
    var new = newJob(id)
    new.limits.after = JobID.ranges(of: ids)
    new.limits.ifOK = ifOK
    return .added(new)
  }

  private func run(_ id: JobID, _ how: Ending = .exited(0), attempt: Int = 1) -> [Event] {
    [
      .started(id: id, attempt: attempt, at: now, boot: []),
      .ended(id: id, at: now, duration: 1, how: how, cause: .itself),
    ]
  }

  private func skipped(_ queue: Queue) -> [JobID]? {
    if case .skip(let job, let because) = queue.next(now: now) { [job.id, because] } else { nil }
  }

  // Fails when only the last of the jobs counts, or only failures do.
  @Test("A job is skipped unless all required jobs succeeded, and so is the chain after it")
  func all() {
    let jobs = [added(1), added(2), job(3, after: [1, 2]), job(4, after: [3])]
    var good = queue(jobs + run(1) + run(2))
    #expect(good.next(now: now) == good.job(3).map { .run($0) })
    good.apply(.acknowledged(id: 1, at: now))
    let bad: [(first: [Event], because: JobID)] = [
      (run(1, .exited(1)) + run(2), 1), (run(1) + run(2, .killed(9)), 2),
      (run(1) + [.cancelled(id: 2, at: now)], 2),
      (run(2) + [.started(id: 1, attempt: 1, at: now, boot: []), .interrupted(id: 1, at: now)], 1),
      (run(1, .exited(1)) + [.acknowledged(id: 1, at: now)] + run(2), 1),
    ]
    for (events, because) in bad {
      var queue = queue(jobs + events)
      #expect(skipped(queue) == [3, because])
      queue.apply(.skipped(id: 3, at: now, because: because))
      // The failure at the start of the chain.
      #expect(skipped(queue) == [4, because])
    }
  }

  // Fails when a missing job counts as successful, or a forgotten success as missing: leave out the
  // subtraction in `forget`.
  @Test(
    "The result of a forgotten job still counts, also after a compaction", arguments: [true, false])
  func forgotten(succeeds: Bool) throws {
    var queue = queue(
      [added(1), added(2), added(3), job(4, after: [1, 2, 3])] + run(1) + run(3)
        + run(2, .exited(succeeds ? 0 : 1)))
    queue.apply(.forgotten(ids: [1...3], at: now))
    var compacted = Queue()
    try queue.forEachMinimalEvent { compacted.apply($0) }
    for queue in [queue, compacted] {
      #expect(queue.job(4)?.limits.after == (succeeds ? [] : [2...2]))
      #expect(skipped(queue) == (succeeds ? nil : [4, 2]))
    }
  }

  // Fails when the jobs are put behind one by one: they would be reversed.
  @Test("A retried job takes those behind it that require it, in their order")
  func retry() throws {
    var queue = queue(
      [added(1), job(2, after: [1]), added(3), job(4, after: [1]), job(5, after: [2]), added(6)]
        + run(1, .exited(1)))
    let one = try #require(queue.job(1))
    queue.retryEvents([one], first: false, at: now).forEach { queue.apply($0) }
    #expect(queue.waiting.map(\.id) == [3, 6, 1, 2, 5, 4])
    #expect(queue.isConsistent)
    #expect(queue.ordered([], at: now).isEmpty)
    let move = Event.moved(id: 4, at: now, place: .first)
    #expect(queue.misplaced(by: [move]) ?? (0, 0) == (4, 1))
    #expect(queue.misplaced(by: [.moved(id: 3, at: now, place: .last)]) == nil)
  }

  // Fails when a retry of the job alone stays skipped, or one together with a required job is not
  // checked.
  @Test("A retry is unconditional, unless a required job waits or is retried with it")
  func freedom() throws {
    let skipped = Event.skipped(id: 2, at: now, because: 1)
    let before = queue([added(1), job(2, after: [1]), added(3)] + run(1, .exited(1)) + [skipped])
    let (one, two) = (try #require(before.job(1)), try #require(before.job(2)))
    var queue = before
    queue.retryEvents([two], first: true, at: now).forEach { queue.apply($0) }
    #expect(queue.next(now: now) == queue.job(2).map { .run($0) })
    queue = before
    queue.retryEvents([two, one], first: true, at: now).forEach { queue.apply($0) }
    #expect(queue.waiting.map(\.id) == [1, 2, 3])
    run(1, .exited(1), attempt: 2).forEach { queue.apply($0) }
    #expect(self.skipped(queue) == [2, 1])
    // New conditions count, also after a retry.
    queue = before
    let options = EditedOptions(context: two.context, label: nil, limits: two.limits)
    queue.editEvents(two, two.command, options, checks: true, at: now).forEach { queue.apply($0) }
    queue.apply(.cancelled(id: 3, at: now))
    #expect(self.skipped(queue) == [2, 1])
  }

  // Fails when a hand-edited line can name the job itself or a later one.
  @Test("A job requires only lower ids, so there is no cycle")
  func cycle() {
    var queue = queue([job(1, after: [1, 2]), job(2, after: [1, 2, 3])])
    #expect(queue.job(1)?.limits.after == [] && queue.job(2)?.limits.after == [1...1])
    run(1).forEach { queue.apply($0) }
    #expect(queue.next(now: now) == queue.job(2).map { .run($0) })
  }

  // Fails when the jobs of a range are searched one by one: this would take minutes.
  @Test("Ten thousand jobs that require all lower ones are put in order")
  func many() {
    let count = 10_000 / ease
    var queue = Queue()
    for id in 1...count {
      var new = newJob(id)
      new.limits.after = id == 1 ? [] : [1...id - 1]
      new.place = .first
      queue.apply(.added(new))
    }
    queue.ordered([], at: now).forEach { queue.apply($0) }
    #expect(queue.waiting.map(\.id) == Array(1...count))
  }

  // Fails when a command puts a job before one that it requires, or a result is lost.
  @Test(
    "Whatever commands are used, each job runs after those it requires, or is skipped",
    arguments: 1...40)
  func anyCommands(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var simulation = Simulation(now: now)
    for _ in 0..<200 { try simulation.act(&generator) }
    while simulation.takeTurn(&generator) {}
    #expect(simulation.queue.count(.waiting) == 0)
  }

  /// A queue, and the result of every job in an array that forgets nothing.
  private struct Simulation {
    let now: Timestamp
    var queue = Queue()
    var results: [JobID: Bool] = [:]
    /// What each job was added with.
    var required: [JobID: [JobID]] = [:]

    init(now: Timestamp) { self.now = now }

    mutating func apply(_ events: [Event]) { events.forEach { queue.apply($0) } }

    mutating func act(_ generator: inout SeededGenerator) throws {
      let any = queue.jobs.randomElement(using: &generator)
      switch Int.random(in: 0..<9, using: &generator) {
      case 0..<3:
        var new = newJob(queue.nextID)
        let ids = queue.jobs.map(\.id).filter { _ in Int.random(in: 0..<4, using: &generator) == 0 }
        new.limits.after = JobID.ranges(of: ids)
        new.place = Bool.random(using: &generator) ? .first : .last
        required[new.id] = ids
        apply(queue.ordered([.added(new)], at: now))
      case 3:
        let other = Array(queue.waiting).randomElement(using: &generator)
        guard let any, let other, any.id != other.id else { return }
        let move = Event.moved(id: any.id, at: now, place: .before(other.id))
        if queue.misplaced(by: [move]) == nil { apply([move]) }
      case 4:
        guard let any, any.state.isOver else { return }
        apply(queue.retryEvents([any], first: .random(using: &generator), at: now))
        results[any.id] = nil
      case 5:
        guard let any, any.state == .waiting else { return }
        apply(queue.cancelEvents([any.id], at: now))
        results[any.id] = false
      case 6:
        guard let any, any.state.isOver else { return }
        apply([.forgotten(ids: [any.id...any.id], at: now)])
        var compacted = Queue()
        try queue.forEachMinimalEvent { compacted.apply($0) }
        #expect(compacted.jobs == queue.jobs)
      default: _ = takeTurn(&generator)
      }
      #expect(queue.misplaced(by: []) == nil)
    }

    mutating func takeTurn(_ generator: inout SeededGenerator) -> Bool {
      switch queue.next(now: now) {
      case .run(let job):
        let isFree = job.run?.isFree == true
        let isMet = (required[job.id] ?? []).allSatisfy { results[$0] == true }
        #expect(isFree || isMet, "job \(job.id)")
        let attempt = (job.run?.attempt ?? 0) + 1
        let succeeds = Int.random(in: 0..<4, using: &generator) > 0
        apply([
          .started(id: job.id, attempt: attempt, at: now, boot: []),
          .ended(
            id: job.id, at: now, duration: 1, how: .exited(succeeds ? 0 : 1), cause: .itself),
        ])
        results[job.id] = succeeds
      case .skip(let job, let because):
        let isMet = (required[job.id] ?? []).allSatisfy { results[$0] == true }
        // None of them waits at this time.
        #expect(!isMet && required[job.id]?.allSatisfy { results[$0] != nil } == true)
        apply([.skipped(id: job.id, at: now, because: because)])
        results[job.id] = false
      case .later, .nothing: return false
      }
      return true
    }
  }
}
