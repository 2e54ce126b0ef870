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
    case 0...2: .job(job, order())
    case 3...7: .run(job, run())
    case 8: .queue(memory())
    // A line about none is not written.
    default:
      .forgotten(
        [1...1] + ids().filter { $0.lowerBound > 2 }
          + (int(0...9) == 0 ? [22...JobID.valid.upperBound] : []))
    }
  }

  mutating func order() -> Order {
    let details = Order.Details(
      label: maybe(text()), input: maybe([.file(text()), .copy(id())][int(0...1)]),
      terminal: maybe(JobTerminal(rows: any(0...65_535), columns: any(0...65_535))),
      key: maybe(text()),
      limits: Limits(
        timeout: count(9), retries: count(3), retryDelay: count(5), ifOK: bool(), after: ids()
      ))
    let command: Command = bool() ? .shell(text()) : .arguments([text(), text()])
    return Order(command, in: context(), int(0...3) == 0 ? Order.Details() : details, added: time())
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

  mutating func run() -> Run {
    var run = Run()
    (run.attempts, run.retriesUsed) = (count(4), count(2))
    switch int(0...2) {
    case 0:
      run.phase = .waiting(
        Run.Waiting(
          rank: maybe(rank()), due: maybe(clocks()), isFree: bool(), hadTerminal: bool(),
          missing: maybe(text()), missingSince: maybe(time())))
      if case .waiting(var waiting) = run.phase, waiting.missing == nil {
        waiting.missingSince = nil
        run.phase = .waiting(waiting)
      }
    case 1:
      run.phase = .running(
        Run.Running(
          execution: execution(), boot: text(), uptime: nanoseconds(),
          pid: maybe(Int32(any(1...Int(Int32.max)))),
          requests: (0..<int(0...2)).map { _ in Int32(any(1...64)) },
          suspension: Suspension(
            since: maybe(time()), uptime: nanoseconds(), earlier: nanoseconds()),
          question: maybe(Question([.input, .password][int(0...1)], text()))))
      if case .running(var running) = run.phase, running.suspension.since == nil {
        running.suspension = Suspension(earlier: running.suspension.earlier)
        run.phase = .running(running)
      }
    default:
      let outcomes: [Run.Outcome] = [
        .ended(ending(), [.itself, .cancelled, .timedOut][int(0...2)], duration: nanoseconds()),
        .interrupted(isStopped: bool()), .cancelled, .skipped(because: id()),
      ]
      let outcome = outcomes[int(0...3)]
      run.phase = .over(
        Run.Over(
          outcome: outcome, at: time(), execution: execution(), hookFailure: maybe(ending()),
          isAcknowledged: outcome.state.opens && bool()))
    }
    return run
  }

  private mutating func hook() -> Hook { Hook(line: text(), context: context()) }

  mutating func memory() -> Memory {
    var memory = Memory()
    memory.settings = Memory.Settings(
      stopsOnFailure: bool(), onFinish: maybe(hook()), onIdle: maybe(hook()), onAsk: maybe(hook()),
      keep: maybe(1 + count(8, upTo: Int(UInt32.max) - 1)), shell: maybe(text()),
      logLimit: maybe(any(Memory.Settings.logLimits)),
      terminal: bool(), launcher: maybe(text()))
    memory.pause = maybe(Memory.Pause(at: maybe(time()), because: maybe(id())))
    let most = JobID.valid.upperBound
    memory.results.succeeded = count(9, upTo: most)
    memory.results.failed = count(9, upTo: most)
    memory.results.skipped = count(9, upTo: most)
    memory.results.cancelled = count(9, upTo: most)
    // No more than a line can hold.
    for state in JobState.allCases { memory.results.count(state, 1) }
    memory.results.hasRun = bool()
    memory.idleHookFailure = maybe(ending())
    memory.previous = maybe(Memory.Previous(id: id(), succeeded: bool()))
    return memory
  }
}
