@testable import SerialqQueue
@testable import SerialqSystem
@testable import SerialqCLI

/// A history of a queue; times are in seconds since its start, 2027-01-15 08:00:00 UTC.
struct History {
  private(set) var acts: [Act] = []
  private var count = 0
  /// The present time, for jobs that still run.
  var now: Double = 0

  /// Sets the time zone of the process once: reports show local times.
  private static let zone: Int32 = {
    let result = setenv("TZ", "UTC0", 1)
    tzset()
    return result
  }()

  init() { _ = Self.zone }

  static func moment(_ seconds: Double) -> Timestamp {
    Timestamp(microseconds: 1_800_000_000_000_000 + Int64(seconds * 1e6))
  }

  @discardableResult
  mutating func add(_ line: String = "true", label: String? = nil) -> JobID {
    count += 1
    acts.append(.add(count, spec(line, JobSpec.Details(label: label.map { Bytes($0.utf8) }))))
    return count
  }

  mutating func start(_ id: JobID, at start: Double) {
    acts.append(.start(id, at: serialqTests.moment(Self.moment(start), boot: "")))
  }

  /// An attempt at a job, from its start to its end.
  mutating func run(
    _ id: JobID, at start: Double, for length: Double, _ how: Ending = .exited(0),
    _ cause: EndCause = .itself
  ) {
    self.start(id, at: start)
    now = max(now, start + length)
    acts.append(
      .end(
        id, how, cause, duration: Int64(length * 1e9),
        at: serialqTests.moment(Self.moment(start + length))))
  }

  /// Adds a job and runs it.
  mutating func job(
    at start: Double, for length: Double, label: String? = nil, _ how: Ending = .exited(0)
  ) {
    run(add(label: label), at: start, for: length, how)
  }

  mutating func take(_ act: Act) { acts.append(act) }

  private var reading: ClockReading {
    ClockReading(date: Self.moment(now), monotonic: 0, boot: Bytes("b"))
  }

  private var replayed: (Queue, EarlierAttempts) {
    var (queue, attempts) = (Queue(), EarlierAttempts())
    var all = Queue()
    for entry in all.perform(acts) {
      queue.apply(entry)
      if let job = entry.job.flatMap(queue.job) { attempts.take(job, at: reading) }
    }
    return (queue, attempts)
  }

  var queue: Queue { replayed.0 }

  func timeline(last count: Int = 50) -> Timeline {
    let (queue, attempts) = replayed
    return Timeline(queue, attempts, at: reading, last: count)
  }

  /// A report with all parts of a page; `tail` stands for each log.
  func report(last count: Int = 50, tail: [String] = []) -> QueueReport {
    let (queue, attempts) = replayed
    var report = QueueReport("default", queue, attempts, at: reading, last: count)
    report.troubles = queue.jobs.filter(\.state.isFailure).map { .init(job: $0, tail: tail) }
    return report
  }

  /// One job in each state, and one that was retried, with a gap of an hour.
  static var everything: History {
    var history = History()
    history.job(at: 0, for: 60, label: "build")
    history.job(at: 61, for: 30, label: "build", .exited(2))
    history.job(at: 3_700, for: 20, label: "train", .killed(9))
    history.run(history.add(label: "train"), at: 3_720, for: 40, .killed(15), .timedOut)
    let lost = history.add(label: "train")
    history.start(lost, at: 3_761)
    history.take(.interrupt(lost, at: serialqTests.moment(moment(9_000))))
    history.run(history.add(label: "fetch"), at: 9_001, for: 10, .killed(15), .cancelled)
    let skipped = history.add(label: "fetch")
    history.take(.skip(skipped, because: 6, at: moment(9_012)))
    let again = history.add(label: "fetch")
    history.run(again, at: 9_012, for: 5, .exited(1))
    history.take(.retry([again]))
    history.run(again, at: 9_018, for: 15)
    history.start(history.add("sleep 1d"), at: 9_040)
    history.now = 9_060
    for number in 1...8 { history.add("echo \(number)") }
    return history
  }
}
