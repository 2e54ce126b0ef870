@testable import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
@testable import SerialqWatch
import Testing

@Suite struct DurationEstimateTests {
  /// A job that ended after the given number of seconds.
  private func job(
    _ id: JobID, _ line: String, label: String? = nil, _ seconds: Int64,
    _ state: JobState = .succeeded
  ) throws -> Job {
    try #require(
      jobAfter(spec(line, label), id: id, state, nanoseconds: seconds * 1_000_000_000))
  }

  private func spec(_ line: String, _ label: String? = nil) -> JobSpec {
    serialqTests.spec(line, JobSpec.Details(label: label.map { Bytes($0.utf8) }))
  }

  private func waiting(_ line: String, label: String? = nil) throws -> Job {
    try job(99, line, label: label, 0, .waiting)
  }

  /// A job that started so many seconds ago.
  private func running(_ line: String, since seconds: Int64) throws -> Job {
    let started = Timestamp(microseconds: Clock.now().microseconds - seconds * 1_000_000)
    return try #require(jobAfter(spec(line), id: 99, .running, started: started))
  }

  // Fails if the order of precedence changes, or a mean is used: a single outlier changes it.
  @Test("an estimate uses the same command first, then the same label, then the queue")
  func order() throws {
    let estimate = try DurationEstimate([
      job(1, "make", label: "build", 10), job(2, "make", label: "build", 12),
      job(3, "make", label: "build", 5_000), job(4, "make all", label: "build", 100),
      job(5, "true", 1), job(6, "true", 1), job(7, "true", 1), job(8, "true", 1),
      job(9, "false", 900, .failed), job(10, "sleep", 900, .cancelled),
    ])
    #expect(try estimate.duration(of: waiting("make")) == .seconds(12))
    #expect(try estimate.duration(of: waiting("make install", label: "build")) == .seconds(100))
    #expect(try estimate.duration(of: waiting("other")) == .seconds(10))
    #expect(try estimate.duration(of: waiting("false")) == .seconds(10))
    #expect(try estimate.duration(of: waiting("other", label: "none")) == .seconds(10))
  }

  // Fails if old durations count forever: only the latest five are representative.
  @Test("only the latest runs of a command count")
  func latest() throws {
    let old = try (1...20).map { try job($0, "make", 1_000) }
    let new = try (21...25).map { try job($0, "make", 10) }
    #expect(try DurationEstimate(old + new).duration(of: waiting("make")) == .seconds(10))
  }

  // Fails if an estimate is made up, or shown after it has been exceeded.
  @Test("without data there is no estimate")
  func unknown() throws {
    let nothing = try DurationEstimate([job(1, "false", 9, .failed), waiting("make")])
    #expect(try nothing.duration(of: waiting("make")) == nil)
    #expect(try nothing.left(running: [], waiting: [waiting("make")]) == nil)
    let estimate = try DurationEstimate([job(1, "make", 10)])
    #expect(estimate.left(running: [], waiting: []) == nil)
    let late = try running("make", since: 60)
    #expect(estimate.left(running: [late], waiting: []) == nil)
    #expect(try estimate.left(running: [late], waiting: [waiting("make")]) == .seconds(10))
  }

  // Fails if the elapsed time is not subtracted, or a waiting job is left out.
  @Test("the remaining time is the rest of the running job plus all waiting jobs")
  func left() throws {
    let estimate = try DurationEstimate([job(1, "make", 100), job(2, "true", 1)])
    let left = try #require(
      try estimate.left(
        running: [running("make", since: 40)], waiting: [waiting("make"), waiting("true")]))
    // Less than a minute has passed since the line above.
    #expect(left > .seconds(101) && left <= .seconds(161))
  }

  // Fails if durations are rounded before they are added: 25 jobs of 0.4 s would take 25 s or none.
  @Test("durations are added before the sum is rounded")
  func exactSum() throws {
    let short = try #require(jobAfter(spec("make"), .succeeded, nanoseconds: 400_000_000))
    let jobs = try (1...25).map { _ in try waiting("make") }
    let left = try #require(DurationEstimate([short]).left(running: [], waiting: jobs))
    #expect(left == .seconds(10))
    #expect(Humanize.about(left) == "10s")
  }
}
