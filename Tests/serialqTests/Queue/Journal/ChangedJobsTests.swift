import SerialqSystem
import Testing

@testable import SerialqQueue

@Suite struct ChangedJobsTests {
  private static let at = Timestamp(microseconds: 1_800_000_000_000_000)

  private func start(_ id: JobID) -> Event { .started(id: id, attempt: 1, at: Self.at, boot: []) }

  private func end(_ id: JobID) -> Event {
    .ended(id: id, at: Self.at, duration: 0, how: .exited(0), cause: .itself)
  }

  // Fails if `status -w` or `run` reports a job before those that ran before it, or twice.
  @Test("jobs are in the order in which they ran, each once, whatever else happened to them")
  func order() {
    var changed = ChangedJobs()
    let events: [Event] = [
      .moved(id: 2, at: Self.at, place: .last), end(1), start(3), end(3), start(2),
      .acknowledged(id: 3, at: Self.at), end(2),
    ]
    for event in events { changed.note(event) }
    #expect(changed.inOrder == [1, 3, 2])
  }
}
