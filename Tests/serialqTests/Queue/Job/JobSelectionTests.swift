@testable import SerialqQueue
import SerialqSystem
import Testing

@Suite struct JobSelectionTests {
  /// Jobs 1 to 5 without job 3; 1 and 4 are called build, 2 is called 7, 5 has no label.
  private func queue() -> Queue {
    var queue = Queue()
    for (id, label) in [(1, "build"), (2, "7"), (3, "gone"), (4, "build"), (5, nil)] {
      let details = JobSpec.Details(label: label.map { Bytes($0.utf8) })
      queue.perform(.add(id, spec("true", details)))
    }
    queue.perform(.cancel([3]), .forget(3...3))
    return queue
  }

  private func ids(_ words: String...) throws(Failure) -> [JobID] {
    try queue().jobs(JobSelection(words.map { Bytes($0.utf8) }), in: "default").map(\.id)
  }

  // Fails if a form is read as a label, or a job is selected twice.
  @Test("ids, ranges and lists select jobs in this order, each once")
  func ids() throws {
    #expect(try ids() == [])
    #expect(try ids("4") == [4])
    #expect(try ids("1-1") == [1])
    #expect(try ids("2-4") == [2, 4])
    #expect(try ids("5", "1-2", "2") == [5, 1, 2])
    #expect(try ids("5,1-2,4") == [5, 1, 2, 4])
  }

  // Fails if a label ends a list of ids, or a label with a comma is split.
  @Test("the jobs that another requires may also be a list of ids and labels")
  func requiredJobs() throws {
    func ranges(_ words: String..., queue: Queue? = nil) throws(Failure) -> [ClosedRange<JobID>] {
      try (queue ?? self.queue()).ranges(
        of: JobSelection(words.map { Bytes($0.utf8) }), in: "default")
    }
    #expect(try ranges() == [])
    #expect(try ranges("5,build", "1-2") == [1...2, 4...5])
    let failure = #expect(throws: Failure.self) { try ranges("1,none") }
    #expect(failure?.sentence.hasPrefix("--after none: not a job id") == true)
    #expect(throws: Failure.self) { try ranges("1,,2") }
    #expect(throws: Failure.self) { try ranges("3") }
    var queue = queue()
    queue.perform(.add(6, spec("true", JobSpec.Details(label: Bytes("5,build")))))
    #expect(try ranges("5,build", queue: queue) == [6...6])
  }

  // Fails if the oldest job with the label is selected, or a label goes before an id.
  @Test("a label selects the latest job that has it")
  func labels() throws {
    #expect(try ids("build") == [4])
    #expect(try ids("build", "4", "1") == [4, 1])
    let seven = #expect(throws: Failure.self) { try ids("7") }
    #expect(seven?.sentence == "job 7: queue default has no such job; its last job is 5")
  }

  // Fails if one of them selects a job, or the message does not say both.
  @Test(
    "what is neither an id nor a label is refused",
    arguments: [
      "0", "+1", "-1", "3-1", "1-2-3", "1,", ",", "1,build", "x", "", "99999999999999999999", "1 ",
    ])
  func unknown(_ word: String) throws {
    let failure = #expect(throws: Failure.self) { try ids(word) }
    #expect(failure?.why == "not a job id, and no job of queue default has this label")
    #expect(failure?.what == (word.isEmpty ? "''" : word))
  }

  // Fails if a range counts as one job because the queue has only one of it.
  @Test("whether a selection names one job does not depend on the queue")
  func namesOneJob() {
    for one in ["1", "1-1", "build", "1,x"] { #expect(JobSelection(Bytes(one.utf8)).namesOneJob) }
    for several in ["1-2", "1,2", ""] {
      #expect(!JobSelection(Bytes(several.utf8)).namesOneJob)
    }
    #expect(!JobSelection().namesOneJob)
  }
}
