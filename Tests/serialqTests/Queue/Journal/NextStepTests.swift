import SerialqSystem
import Testing

@testable import SerialqQueue

/// The next action of a runner, and the consequences of an end.
@Suite struct NextStepTests {
  private let now = Timestamp(microseconds: 1_000_000_000)

  private func job(_ id: JobID, _ limits: Limits) -> Event {
    var new = newJob(id)
    new.limits = limits
    return .added(new)
  }

  private func run(_ id: JobID, _ how: Ending, _ cause: EndCause = .itself) -> [Event] {
    [
      .started(id: id, attempt: 1, at: now, boot: []),
      .ended(id: id, at: now, duration: 1, how: how, cause: cause),
    ]
  }

  private func skipped(_ queue: Queue) -> (JobID, JobID)? {
    if case .skip(let job, let because) = queue.next(now: now) { (job.id, because) } else { nil }
  }

  // Fails when a skipped job counts as a success: the chain would continue after the first link.
  @Test("A job that requires success is skipped after any other end, and so is the chain after it")
  func chain() throws {
    let ifOK = Limits(ifOK: true)
    for (how, cause) in [
      (Ending.exited(1), EndCause.itself), (.killed(9), .itself), (.exited(0), .timedOut),
      (.killed(15), .cancelled),
    ] {
      var queue = queue([added(1), job(2, ifOK), job(3, ifOK), added(4)] + run(1, how, cause))
      #expect(try #require(skipped(queue)) == (2, 1))
      queue.apply(.skipped(id: 2, at: now, because: 1))
      #expect(try #require(skipped(queue)) == (3, 1))
      queue.apply(.skipped(id: 3, at: now, because: 1))
      #expect(queue.next(now: now) == queue.job(4).map { .run($0) })
    }
    let good = queue([added(1), job(2, ifOK)] + run(1, .exited(0)))
    #expect(good.next(now: now) == good.job(2).map { .run($0) })
    // No job ran before the first.
    let first = queue([job(1, ifOK)])
    #expect(first.next(now: now) == first.job(1).map { .run($0) })
  }

  // Fails when a canceled job is ignored: the one after it would depend on the job before both.
  @Test("Canceling a waiting job skips the chain after it, and no other job")
  func cancelledLink() {
    let ifOK = Limits(ifOK: true)
    var queue = queue([added(1), added(2), job(3, ifOK), job(4, ifOK), added(5), job(6, ifOK)])
    queue.cancelEvents([2], at: now).forEach { queue.apply($0) }
    #expect(
      queue.jobs.map(\.state) == [.waiting, .cancelled, .skipped, .skipped, .waiting, .waiting])
    #expect(queue.job(4)?.run?.because == 2)
  }

  // Fails when attempts are miscounted, or a retry runs after other jobs.
  @Test("A failed job is retried first, up to its limit, and then stops the queue")
  func retries() throws {
    var queue = queue([
      .set(.stopsOnFailure(true), at: now), job(1, Limits(retries: 2, retryDelay: 5)), added(2),
    ])
    for attempt in 1...3 {
      queue.apply(.started(id: 1, attempt: attempt, at: now, boot: []))
      let job = try #require(queue.job(1))
      queue.apply(.ended(id: 1, at: now, duration: 1, how: .exited(1), cause: .itself))
      let events = queue.consequences(of: job, ending: .failed, at: now)
      events.forEach { queue.apply($0) }
      guard attempt < 3 else { continue }
      let due = Timestamp(microseconds: now.microseconds + 5_000_000)
      #expect(queue.next(now: now) == .later(due))
      #expect(queue.next(now: due) == queue.job(1).map { .run($0) })
      #expect(queue.openCount == 0 && !queue.isPaused)
    }
    #expect(queue.pause == Queue.Pause(at: now, because: 1))
    #expect(queue.next(now: now) == .nothing && queue.openCount == 1)
    queue.apply(.resumed(at: now))
    #expect(queue.next(now: now) == queue.job(2).map { .run($0) })
  }

  // Fails when the number of jobs to keep removes a failure that is not acknowledged.
  @Test("Jobs beyond the number to keep are forgotten, except open failures")
  func keep() {
    var queue = queue(
      [.set(.keep(2), at: now)] + (1...6).map { added($0) } + run(1, .exited(1))
        + (2...5).flatMap { run($0, .exited(0)) })
    queue.keepEvents(at: now).forEach { queue.apply($0) }
    #expect(queue.jobs.map(\.id) == [1, 4, 5, 6])
    queue.apply(.acknowledged(id: 1, at: now))
    queue.keepEvents(at: now).forEach { queue.apply($0) }
    #expect(queue.jobs.map(\.id) == [4, 5, 6])
  }

  // Fails when ids decide which jobs are forgotten: ignore the dates in `ids(excludingLatest:)`.
  @Test("The kept jobs are those that ended last, also after a retry")
  func keepsLast() throws {
    var queue = queue([.set(.keep(2), at: now)] + (1...5).map { added($0) })
    func end(_ id: JobID, attempt: Int, second: Int64) throws {
      let at = Timestamp(microseconds: now.microseconds + second * 1_000_000)
      queue.apply(.started(id: id, attempt: attempt, at: at, boot: []))
      let job = try #require(queue.job(id))
      // As in a runner: the consequences are computed before the end is applied, and appended after
      // it.
      let events = queue.consequences(of: job, ending: .succeeded, at: at)
      queue.apply(.ended(id: id, at: at, duration: 1, how: .exited(0), cause: .itself))
      events.forEach { queue.apply($0) }
    }
    for id in 1...3 { try end(id, attempt: 1, second: Int64(id)) }
    #expect(queue.jobs.map(\.id) == [2, 3, 4, 5])
    queue.apply(.retried(Retry(id: 2, at: now, attempts: 1, place: .first)))
    try end(2, attempt: 2, second: 4)
    #expect(queue.jobs.map(\.id) == [2, 3, 4, 5])
    try end(4, attempt: 1, second: 5)
    #expect(queue.jobs.map(\.id) == [2, 4, 5])
    queue.apply(.set(.keep(1), at: now))
    try end(5, attempt: 1, second: 6)
    #expect(queue.jobs.map(\.id) == [5] && queue.isConsistent)
  }
}
