import SerialqSystem
import Testing

@testable import SerialqQueue

/// The next action of a runner, and the consequences of an end.
@Suite struct NextStepTests {
  private let now = moment()

  private func job(_ id: JobID, _ limits: Limits) -> Act {
    .add(id, order("true", Order.Details(limits: limits)))
  }

  private func run(_ id: JobID, _ how: Ending, _ cause: EndCause = .itself) -> [Act] {
    [.start(id), .end(id, how, cause)]
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
      var queue = queue([.add(1), job(2, ifOK), job(3, ifOK), .add(4)] + run(1, how, cause))
      #expect(try #require(skipped(queue)) == (2, 1))
      queue.perform(.skip(2, because: 1))
      #expect(try #require(skipped(queue)) == (3, 1))
      queue.perform(.skip(3, because: 1))
      #expect(queue.next(now: now) == queue.job(4).map { .run($0) })
    }
    let good = queue([.add(1), job(2, ifOK)] + run(1, .exited(0)))
    #expect(good.next(now: now) == good.job(2).map { .run($0) })
    // No job ran before the first.
    let first = queue([job(1, ifOK)])
    #expect(first.next(now: now) == first.job(1).map { .run($0) })
  }

  // Fails when a canceled job is ignored: the one after it would depend on the job before both.
  @Test("Canceling a waiting job skips the chain after it, and no other job")
  func cancelledLink() {
    let ifOK = Limits(ifOK: true)
    var queue = queue([.add(1), .add(2), job(3, ifOK), job(4, ifOK), .add(5), job(6, ifOK)])
    queue.perform(.cancel([2]))
    #expect(
      queue.jobs.map(\.state) == [.waiting, .cancelled, .skipped, .skipped, .waiting, .waiting])
    #expect(queue.job(4)?.skippedBecause == 2)
  }

  // Fails when attempts are miscounted, or a retry runs after other jobs.
  @Test("A failed job is retried first, up to its limit, and then stops the queue")
  func retries() throws {
    var queue = queue([
      .set { $0.settings.stopsOnFailure = true }, job(1, Limits(retries: 2, retryDelay: 5)),
      .add(2),
    ])
    for attempt in 1...3 {
      queue.perform(.start(1), .end(1, .exited(1), at: now))
      guard attempt < 3 else { continue }
      let due = now.adding(seconds: 5)
      #expect(queue.next(now: now) == .later(due.monotonic))
      #expect(queue.next(now: due) == queue.job(1).map { .run($0) })
      #expect(queue.openCount == 0 && !queue.isPaused)
    }
    #expect(queue.memory.pause == Memory.Pause(at: now.date, because: 1))
    #expect(queue.next(now: now) == .nothing && queue.openCount == 1)
    queue.perform(.resume)
    #expect(queue.next(now: now) == queue.job(2).map { .run($0) })
  }

  // Fails when the number of jobs to keep removes a failure that is not acknowledged.
  @Test("Jobs beyond the number to keep are forgotten, except open failures")
  func keep() {
    var queue = queue(
      [.set { $0.settings.keep = 2 }] + (1...6).map { .add($0) } + run(1, .exited(1))
        + (2...5).flatMap { run($0, .exited(0)) })
    #expect(queue.jobs.map(\.id) == [1, 4, 5, 6])
    queue.perform(.acknowledge(1))
    queue.forgetting().forEach { queue.apply($0) }
    #expect(queue.jobs.map(\.id) == [4, 5, 6])
  }

  // Fails when ids decide which jobs are forgotten: ignore the dates in `ids(excludingLatest:)`.
  @Test("The kept jobs are those that ended last, also after a retry")
  func keepsLast() {
    var queue = queue([.set { $0.settings.keep = 2 }] + (1...5).map { .add($0) })
    func end(_ id: JobID, second: Int) {
      let at = now.adding(seconds: second)
      queue.perform(.start(id, at: at), .end(id, at: at))
    }
    for id in 1...3 { end(id, second: id) }
    #expect(queue.jobs.map(\.id) == [2, 3, 4, 5])
    queue.perform(.retry([2], first: true))
    end(2, second: 4)
    #expect(queue.jobs.map(\.id) == [2, 3, 4, 5])
    end(4, second: 5)
    #expect(queue.jobs.map(\.id) == [2, 4, 5])
    queue.perform(.set { $0.settings.keep = 1 })
    end(5, second: 6)
    #expect(queue.jobs.map(\.id) == [5] && queue.isConsistent)
  }
}
