@testable import SerialqCLI
@testable import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

/// The coding of lines, and compaction: nothing is listed here that a line must keep.
@Suite struct EntryTests {
  // Fails when encoding and decoding differ in a member's name or in a limit, or when a property is not
  // encoded.
  @Test("Every line reads back unchanged", .shows(OnDisk.replay), arguments: 1...20)
  func roundTrip(seed: UInt64) throws {
    var random = RandomStates(seed: seed)
    for _ in 0..<300 {
      let entry = random.entry(of: random.int(1...20))
      try #require(lost(in: entry) == [])
    }
  }

  // Fails when compaction leaves something out, or writes it before what overwrites it.
  @Test(
    "A compacted queue is the same queue, whatever lines made it", .shows(OnDisk.compaction),
    arguments: 1...40)
  func compaction(seed: UInt64) throws {
    var random = RandomStates(seed: seed)
    var queue = Queue()
    for _ in 0..<200 { queue.apply(random.entry(of: random.int(1...20))) }
    let (compacted, before) = (try queue.compacted(), queue)
    #expect(compacted == before)
  }

  // Fails when a property is new and the random states never set it: the tests above would not notice
  // that it is not stored. Set it in `RandomStates`.
  @Test("The random states set every property of a line to several values")
  func everyProperty() {
    var random = RandomStates(seed: 1)
    var values = Values()
    for _ in 0..<20_000 { values.note(random.entry(of: random.int(1...20))) }
    #expect(values.constant == [])
    // The mirror sees what is stored, in boxes too.
    let names = [
      "Details.label", "Running.pid", "Over.isAcknowledged", "Limits.after", "Hook.line",
    ]
    for name in names { #expect(values.seen[name] != nil, "\(name)") }
  }

  /// The values that each stored property had.
  private struct Values {
    private(set) var seen: [String: Set<String>] = [:]

    /// The properties that always had the same one.
    var constant: [String] { seen.filter { $0.value.count < 2 }.map(\.key).sorted() }

    mutating func note(_ value: Any) {
      let mirror = Mirror(reflecting: value)
      for child in mirror.children {
        if mirror.displayStyle == .struct, let label = child.label {
          let name = "\(mirror.subjectType).\(label)"
          if seen[name]?.count ?? 0 < 2 { seen[name, default: []].insert("\(child.value)") }
        }
        if mirror.displayStyle != .collection { note(child.value) }
      }
    }
  }

  // Fails when a possible number is written but not read: the whole journal would be refused from
  // then on. Lower a limit of a decoder.
  @Test("The extreme values of a line read back unchanged")
  func extremes() throws {
    // Every byte, no byte at all, a fake end of a line, and half of an escape.
    let texts: [Bytes] = [
      Array(0...255), [], Bytes("\",\"sum\":\"00000000\"}".utf8), [0xEF, 0x9E, 0x80],
    ]
    for moment in [Int64.zero, 253_402_300_799_999_999, -62_167_219_200_000_000] {
      let at = Timestamp(microseconds: moment)
      for entry in texts.flatMap({ extremes(at, $0) }) {
        #expect(lost(in: entry, next: JournalLine.lastNext) == [])
      }
    }
  }

  private func extremes(_ at: Timestamp, _ text: Bytes) -> [Entry] {
    let (id, most) = (JobID.valid.upperBound, ParsedArguments.mostCounted)
    let century = 100 * 365 * 86_400
    let context = ExecutionContext(directory: text, environment: text, umask: 0o777)
    let hook = Hook(line: text, in: context)
    var details = Order.Details(
      label: text, input: .copy(id), terminal: JobTerminal(rows: 65_535, columns: 65_535),
      key: text,
      limits: Limits(
        timeout: century, retries: most, retryDelay: century, ifOK: true, after: [1...1, 3...id]))
    let first = Order(.arguments([text, text]), in: context, details, added: at)
    details.input = .file(text)
    let launch = Launch(command: text, job: text, node: text, lost: text)
    var run = Run()
    (run.attempts, run.retriesUsed) = (2 * (most + 1), most)
    let clocks = ClockReading(date: at, monotonic: .max, boot: text)
    let endings = [
      Ending.exited(0), .exited(255), .killed(1), .killed(127), .cannotRun(127, reason: text),
    ]
    let started = run.started(at: clocks, hasTerminal: true, launch: launch)
    let waiting = [
      run.moved(to: .first(1, upTo: id)), run.left(.skipped(because: id), at: at),
      run.left(.cancelled, at: at),
    ]
    var running = [started, started?.spawned(.max), started?.suspended(at: clocks)]
    running += [
      started?.asked(Question(.input, text)), started?.left(text), started?.unlogged(text),
    ]
    running += (1...64).map { started?.requested($0, at: clocks) }
    let over = endings.flatMap { how in
      [EndCause.itself, .cancelled, .timedOut].flatMap { cause in
        let over = started?.ended(.ended(how, cause, duration: .max), at: at)
        return [over, over?.hookFailed(how)]
      }
    }
    let again = over.map { $0?.retried(Rank(id), due: clocks, isFree: true) }
    let runs = (waiting + running + over + again).compactMap { $0.map { Entry.run(id, $0) } }
    var results = Results()
    (results.succeeded, results.failed, results.skipped) = (id, id, id)
    results.cancelled = id
    // No more than a line can hold.
    for state in JobState.allCases { results.count(state, 1) }
    var memory = Memory()
    memory.settings = Memory.Settings(
      stopsOnFailure: true, onFinish: hook, onIdle: hook, onAsk: hook, keep: Int(UInt32.max),
      shell: text, logLimit: 1 << 50, terminal: true, launcher: text)
    (memory.pause, memory.results) = (Memory.Pause(at: at, because: id), results)
    memory.previous = Memory.Previous(id: id, succeeded: true)
    let memories = endings.map { how in
      memory.failOnIdle(how)
      return Entry.queue(memory)
    }
    return runs + memories + [
      .job(id, first), .job(id, Order(.shell(text), in: context, details, added: at)),
      .forgotten([1...1, 3...id]),
    ]
  }
}
