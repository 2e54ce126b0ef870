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
}
