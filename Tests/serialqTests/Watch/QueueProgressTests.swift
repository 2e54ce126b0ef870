@testable import SerialqQueue
@testable import SerialqRunner
@testable import SerialqSystem
@testable import SerialqWatch
import Testing

@Suite struct QueueProgressTests {
  private func at(_ second: Int64) -> Timestamp {
    Timestamp(microseconds: 1_800_000_000_000_000 + second * 1_000_000)
  }

  private func add(_ id: JobID, at second: Int64) -> Act {
    let spec = spec()
    return .add(id, JobSpec(spec.command, in: spec.context, added: at(second)))
  }

  private func start(_ id: JobID, at second: Int64) -> Act { .start(id, at: moment(at(second))) }

  private func end(_ id: JobID, at second: Int64, _ code: Int32 = 0) -> Act {
    .end(id, .exited(code), duration: 1_000_000_000, at: moment(at(second)))
  }

  // Fails if progress covers the whole history, or begins with the jobs that wait now.
  @Test("progress covers the jobs since the queue was last idle")
  func batch() {
    var acts = [
      add(1, at: 0), start(1, at: 0), end(1, at: 10, 1), add(2, at: 20), start(2, at: 20),
      add(3, at: 25), end(2, at: 30), start(3, at: 30), add(4, at: 35), end(3, at: 40, 3),
      start(4, at: 40), add(5, at: 41),
    ]
    #expect(
      QueueProgress(queue(acts)).bar
        == ProgressBar(over: 2, failed: 1, running: 1, waiting: 1))
    acts += [end(4, at: 50), start(5, at: 50), end(5, at: 60)]
    #expect(
      QueueProgress(queue(acts)).bar
        == ProgressBar(over: 4, failed: 1, running: 0, waiting: 0))
    // Not from the start of job 1, after which the queue was idle.
    let finished = QueueProgress(queue(acts)).finished
    #expect(finished?.start == at(20) && finished?.end == at(60))
    acts += [add(6, at: 70)]
    #expect(QueueProgress(queue(acts)).finished == nil)
    #expect(
      QueueProgress(queue(acts)).bar
        == ProgressBar(over: 0, failed: 0, running: 0, waiting: 1))
  }

  // Fails if a retried job brings back every job that ended since it was first added.
  @Test("a retried job counts from the time it was queued again")
  func again() {
    let acts = [
      add(1, at: 0), start(1, at: 0), end(1, at: 1, 1), add(2, at: 10), start(2, at: 10),
      end(2, at: 11), .retry([1]),
    ]
    #expect(
      QueueProgress(queue(acts)).bar
        == ProgressBar(over: 0, failed: 0, running: 0, waiting: 1))
    let running = acts + [start(1, at: 21)]
    #expect(
      QueueProgress(queue(running)).bar
        == ProgressBar(over: 0, failed: 0, running: 1, waiting: 0))
  }

  // Fails if a job that was skipped counts from its addition: what ran before the queue was idle
  // would count, too.
  @Test("a skipped job counts from the time it was queued again")
  func skipped() {
    let acts = [
      add(1, at: 0), add(2, at: 0), add(3, at: 0), start(1, at: 0), end(1, at: 1, 1),
      .skip(2, because: 1, at: at(1)), start(3, at: 1), end(3, at: 2), .retry([1, 2]),
      start(1, at: 50), end(1, at: 51), start(2, at: 51), end(2, at: 53),
    ]
    let progress = QueueProgress(queue(acts))
    #expect(progress.finished?.start == at(50) && progress.finished?.end == at(53))
    #expect(progress.bar == ProgressBar(over: 2, failed: 0, running: 0, waiting: 0))
  }

  // Fails with a division by zero if an empty queue is not handled.
  @Test("a queue without jobs has no progress")
  func empty() {
    let progress = QueueProgress(Queue())
    #expect(progress.bar.total == 0 && progress.left(Queue()) == nil)
  }

  // Fails if a change is counted only at the next estimate, or estimates are made more than once a
  // second.
  @Test("jobs are counted at once, and durations estimated once a second")
  func update() {
    let before = queue([add(1, at: 0), add(2, at: 0), add(3, at: 0), start(1, at: 1)])
    var after = before
    after.perform(end(1, at: 2))
    var progress = QueueProgress(before, at: 0)
    #expect(progress.left(before) == nil)
    progress.update(after, changes: 2, at: 999_999_999)
    #expect(progress.bar == ProgressBar(over: 1, failed: 0, running: 0, waiting: 2))
    #expect(progress.left(after) == nil)
    progress.update(after, changes: 2, at: 1_000_000_000)
    #expect(progress.left(after) == .seconds(2))
  }

  // Fails if the bar does not have the given length, or hides a failure.
  @Test("a bar shows ended, failed, running and waiting jobs")
  func bar() {
    func bar(_ over: Int, _ failed: Int, _ running: Int, _ waiting: Int) -> String {
      ProgressBar(over: over, failed: failed, running: running, waiting: waiting)
        .line(cells: 10).rendered(color: false)
    }
    #expect(bar(0, 0, 0, 0) == "[..........]")
    #expect(bar(0, 0, 1, 9) == "[>.........]")
    #expect(bar(5, 0, 1, 4) == "[#####>....]")
    #expect(bar(5, 2, 1, 4) == "[###!!>....]")
    #expect(bar(500, 1, 1, 499) == "[####!>....]")
    #expect(bar(999, 0, 1, 0) == "[#########>]")
    #expect(bar(3, 3, 0, 0) == "[!!!!!!!!!!]")
    #expect(bar(7, 0, 0, 0) == "[##########]")
    for over in 0...30 {
      #expect(bar(over, over / 3, 1, 30 - over).count == 12)
    }
  }
}
