@testable import SerialqQueue
import SerialqSystem
import Testing

@testable import SerialqRunner

@Suite struct DurationGuessTests {
  /// A job that ended, in so many seconds.
  private func job(
    _ id: JobID, _ line: String, label: String? = nil, _ seconds: Int64?,
    _ state: JobState = .succeeded
  ) -> Job {
    var new = newJob(id, line)
    new.label = label.map { Bytes($0.utf8) }
    var job = Job(new)
    job.state = state
    if let seconds { job.run = Job.Run(duration: seconds * 1_000_000_000) }
    return job
  }

  private func waiting(_ line: String, label: String? = nil) -> Job {
    job(99, line, label: label, nil, .waiting)
  }

  // Fails if the order of what is asked first is changed, or a mean is taken, which one outlier moves.
  @Test("the same command tells most, then the same label, then the queue")
  func order() {
    let guess = DurationGuess([
      job(1, "make", label: "build", 10), job(2, "make", label: "build", 12),
      job(3, "make", label: "build", 5_000), job(4, "make all", label: "build", 100),
      job(5, "true", 1), job(6, "true", 1), job(7, "true", 1), job(8, "true", 1),
      job(9, "false", 900, .failed), job(10, "sleep", 900, .cancelled),
    ])
    #expect(guess.duration(of: waiting("make")) == .seconds(12))
    #expect(guess.duration(of: waiting("make install", label: "build")) == .seconds(100))
    #expect(guess.duration(of: waiting("other")) == .seconds(10))
    #expect(guess.duration(of: waiting("false")) == .seconds(10))
    #expect(guess.duration(of: waiting("other", label: "none")) == .seconds(10))
  }

  // Fails if old times count for ever: the latest five say how long it takes today.
  @Test("only the latest of a command count")
  func latest() {
    let old = (1...20).map { job($0, "make", 1_000) }
    let new = (21...25).map { job($0, "make", 10) }
    #expect(DurationGuess(old + new).duration(of: waiting("make")) == .seconds(10))
  }

  // Fails if a time is made up, or one that has turned out wrong is still told.
  @Test("nothing is said where nothing is known")
  func unknown() {
    let nothing = DurationGuess([job(1, "false", 9, .failed), waiting("make")])
    #expect(nothing.duration(of: waiting("make")) == nil)
    #expect(nothing.left(running: [], waiting: [waiting("make")]) == nil)
    let guess = DurationGuess([job(1, "make", 10)])
    #expect(guess.left(running: [], waiting: []) == nil)
    var late = waiting("make")
    late.state = .running
    late.run = Job.Run(started: Timestamp(microseconds: Clock.now().microseconds - 60_000_000))
    #expect(guess.left(running: [late], waiting: []) == nil)
    #expect(guess.left(running: [late], waiting: [waiting("make")]) == .seconds(10))
  }

  // Fails if what has run already is not taken off, or a waiting job is left out.
  @Test("what is left is the rest of the running job and all that wait")
  func left() throws {
    let guess = DurationGuess([job(1, "make", 100), job(2, "true", 1)])
    var running = waiting("make")
    running.state = .running
    running.run = Job.Run(started: Timestamp(microseconds: Clock.now().microseconds - 40_000_000))
    let left = try #require(
      guess.left(running: [running], waiting: [waiting("make"), waiting("true")]))
    // Less than a minute has gone by since the line above.
    #expect(left > .seconds(101) && left <= .seconds(161))
  }
}
