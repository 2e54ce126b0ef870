@testable import SerialqQueue
import SerialqSystem
import Testing

@testable import SerialqRunner

@Suite struct DurationGuessTests {
  /// A job that ended after the given number of seconds.
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

  // Fails if the order of precedence changes, or a mean is used: a single outlier changes it.
  @Test("an estimate uses the same command first, then the same label, then the queue")
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

  // Fails if old durations count forever: only the latest five are representative.
  @Test("only the latest runs of a command count")
  func latest() {
    let old = (1...20).map { job($0, "make", 1_000) }
    let new = (21...25).map { job($0, "make", 10) }
    #expect(DurationGuess(old + new).duration(of: waiting("make")) == .seconds(10))
  }

  // Fails if an estimate is made up, or shown after it has been exceeded.
  @Test("without data there is no estimate")
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

  // Fails if the elapsed time is not subtracted, or a waiting job is left out.
  @Test("the remaining time is the rest of the running job plus all waiting jobs")
  func left() throws {
    let guess = DurationGuess([job(1, "make", 100), job(2, "true", 1)])
    var running = waiting("make")
    running.state = .running
    running.run = Job.Run(started: Timestamp(microseconds: Clock.now().microseconds - 40_000_000))
    let left = try #require(
      guess.left(running: [running], waiting: [waiting("make"), waiting("true")]))
    // Less than a minute has passed since the line above.
    #expect(left > .seconds(101) && left <= .seconds(161))
  }
}
