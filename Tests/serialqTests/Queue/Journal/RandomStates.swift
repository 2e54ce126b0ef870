@testable import SerialqSystem
import TestSupport

@testable import SerialqQueue

/// States that set every property in turn, whether a change leads to them or not.
struct RandomStates {
  private var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  mutating func int(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &generator) }

  /// A number of the range, at times one of its ends.
  private mutating func any(_ range: ClosedRange<Int>) -> Int {
    [int(range), range.lowerBound, range.upperBound][max(0, int(-7...2))]
  }
  /// A small number, at times the largest that a line can hold.
  private mutating func count(_ usual: Int, upTo most: Int = Int(UInt32.max)) -> Int {
    [int(0...usual), most][int(0...9) / 9]
  }
  private mutating func bool() -> Bool { .random(using: &generator) }

  private mutating func text() -> Bytes { generator.bytes(upTo: 6) }

  private mutating func maybe<Value>(_ value: Value) -> Value? { bool() ? value : nil }

  private mutating func time() -> Timestamp {
    Timestamp(microseconds: Int64(any(-62_167_219_200_000_000...253_402_300_799_999_999)))
  }

  private mutating func clocks() -> ClockReading {
    ClockReading(date: time(), monotonic: nanoseconds(), boot: text())
  }

  private mutating func nanoseconds() -> Int64 {
    [0, Int64(int(1...9_999)), Int64(Clock.valid.upperBound)][int(0...2)]
  }

  mutating func id() -> JobID { [int(1...20), JobID.valid.upperBound][int(0...9) / 9] }

  private mutating func ids() -> [ClosedRange<JobID>] {
    JobID.ranges(of: (1...20).filter { _ in int(0...3) == 0 })
  }

  private mutating func ending() -> Ending {
    [
      .exited(Int32(any(0...255))), .killed(Int32(any(1...64))),
      .cannotRun(Int32(int(126...127)), reason: text()),
    ][int(0...2)]
  }

  private mutating func context() -> ExecutionContext {
    ExecutionContext(directory: text(), environment: text(), umask: UInt16(any(0...0o777)))
  }

  private mutating func rank() -> Rank {
    var (low, high) = (Rank(int(-20...20)), Rank(int(21...40)))
    for _ in 0..<int(0...4) {
      let middle = Rank.between(low, high, isCloseToUpper: bool())
      if bool() { low = middle } else { high = middle }
    }
    return low
  }

  mutating func entry(of job: JobID) -> Entry {
    switch int(0...9) {
    case 0...2: .job(job, spec())
    case 3...7: .status(job, status())
    case 8: .queue(properties())
    // A line about none is not written.
    default:
      .forgotten(
        [1...1] + ids().filter { $0.lowerBound > 2 }
          + (int(0...9) == 0 ? [22...JobID.valid.upperBound] : []))
    }
  }

  mutating func spec() -> JobSpec {
    let details = JobSpec.Details(
      label: maybe(text()), input: maybe([.file(text()), .copy(id())][int(0...1)]),
      terminal: maybe(JobTerminal(rows: any(0...65_535), columns: any(0...65_535))),
      key: maybe(text()),
      limits: Limits(
        timeout: count(9), retries: count(3), retryDelay: count(5), ifOK: bool(), after: ids()
      ))
    let command: Command = bool() ? .shell(text()) : .arguments([text(), text()])
    return JobSpec(
      command, in: context(), int(0...3) == 0 ? JobSpec.Details() : details, added: time())
  }

  private mutating func execution() -> Execution {
    Execution(
      started: maybe(time()), hasTerminal: bool(),
      launch: maybe(
        Launch(
          command: text(), job: maybe(text()), node: maybe(text()), started: maybe(time()),
          lost: maybe(text()))),
      left: maybe(text()), unlogged: maybe(text()))
  }

  mutating func status() -> JobStatus {
    var status = JobStatus()
    (status.attempts, status.retriesUsed, status.isAgain) = (count(4), count(2), bool())
    switch int(0...2) {
    case 0:
      status.phase = .waiting(
        JobStatus.Waiting(
          rank: maybe(rank()), due: maybe(clocks()), isFree: bool(), hadTerminal: bool(),
          missing: maybe(text()), missingSince: maybe(time())))
      if case .waiting(var waiting) = status.phase, waiting.missing == nil {
        waiting.missingSince = nil
        status.phase = .waiting(waiting)
      }
    case 1:
      status.phase = .running(
        JobStatus.Running(
          execution: execution(), boot: text(), uptime: nanoseconds(),
          pid: maybe(Int32(any(1...Int(Int32.max)))),
          requests: (0..<int(0...2)).map { _ in Int32(any(1...64)) },
          suspension: Suspension(
            since: maybe(time()), uptime: nanoseconds(), earlier: nanoseconds()),
          question: maybe(Question([.input, .password][int(0...1)], text()))))
      if case .running(var running) = status.phase, running.suspension.since == nil {
        running.suspension = Suspension(earlier: running.suspension.earlier)
        status.phase = .running(running)
      }
    default:
      let outcomes: [JobStatus.Outcome] = [
        .ended(ending(), [.itself, .cancelled, .timedOut][int(0...2)], duration: nanoseconds()),
        .interrupted(isStopped: bool()), .cancelled, .skipped(because: id()),
      ]
      let outcome = outcomes[int(0...3)]
      status.phase = .over(
        JobStatus.Over(
          outcome: outcome, at: time(), execution: execution(), hookFailure: maybe(ending()),
          isAcknowledged: outcome.state.opens && bool()))
    }
    return status
  }

  private mutating func hook() -> Hook { Hook(line: text(), context: context()) }

  mutating func properties() -> QueueProperties {
    var properties = QueueProperties()
    properties.settings = QueueProperties.Settings(
      stopsOnFailure: bool(), onFinish: maybe(hook()), onIdle: maybe(hook()), onAsk: maybe(hook()),
      keep: maybe(1 + count(8, upTo: Int(UInt32.max) - 1)), shell: maybe(text()),
      logLimit: maybe(any(QueueProperties.Settings.logLimits)),
      terminal: bool(), launcher: maybe(text()))
    properties.pause = maybe(QueueProperties.Pause(at: maybe(time()), because: maybe(id())))
    let most = JobID.valid.upperBound
    properties.results.succeeded = count(9, upTo: most)
    properties.results.failed = count(9, upTo: most)
    properties.results.skipped = count(9, upTo: most)
    properties.results.cancelled = count(9, upTo: most)
    // No more than a line can hold.
    for state in JobState.allCases { properties.results.count(state, 1) }
    properties.results.hasRun = bool()
    properties.idleHookFailure = maybe(ending())
    properties.previous = maybe(QueueProperties.Previous(id: id(), succeeded: bool()))
    return properties
  }
}
