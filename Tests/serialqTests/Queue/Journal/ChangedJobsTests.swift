import SerialqSystem
import Testing

@testable import SerialqQueue

@Suite struct ChangedJobsTests {
  // Fails if `status -w` or `run` reports a job before those that ran before it, or twice.
  @Test("jobs are in the order in which they ran, each once, whatever else happened to them")
  func order() {
    var (changed, queue) = (ChangedJobs(), queue(.add(1), .add(2), .add(3), .start(1)))
    let acts: [Act] = [
      .move([2], .last), .end(1), .start(3), .end(3, .exited(1)), .start(2), .acknowledge(3),
      .failHook(1, .exited(1)), .end(2),
    ]
    for act in acts {
      var changes = QueueChanges(queue)
      changes.perform(act)
      for entry in changes.entries { changed.note(entry, entry.job.flatMap(queue.job)) }
      queue = changes.queue
    }
    #expect(changed.inOrder == [1, 3, 2])
  }
}
