@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// Injects every error into, and a crash at, every system call of every command that writes.
@Suite(.needs(.cc), .ifFaultsCanBeMade)
struct SystemCallFaultTests {
  // Fails when a part of a failed change is left behind, an error is ignored, an interrupted call
  // counts as an error, or success is reported for data that is not durable: leave out the
  // truncation in `JournalScope.append`, or `retrying` around a call.
  @Test(
    "whichever call fails, the queue is valid and the report about it is true",
    .shows(OnDisk.failuresChangeNothing, OnDisk.prefixes),
    arguments: FaultCase.tried)
  func everyCall(_ tried: FaultCase) throws {
    let bench = try FaultBench()
    try tried.prepare(bench)
    try bench.restore()
    let before = try bench.scene.queue().gist
    _ = try bench.takeLog()
    let clean = try tried.run(bench)
    #expect(clean.code == 0, "\(clean.errorText)")
    let after = try bench.scene.queue().gist
    let first = tried.words[0].utf8.count % 23
    try bench.calls().tryFaults(every: 23, from: first) { fault, call in
      let outcome = try tried.run(bench, fault)
      let place = "\(tried), \(call)"
      try check(outcome, fault, place, bench, before: before, after: after, clean: clean)
      try checkNext(place, bench)
    }
  }

  // Fails when an interrupted or partial call is an error, or counts as complete: leave out
  // `retrying`, or the loop in `writeAll`.
  @Test(
    "signals at every call, and every read and write in two parts, change nothing",
    .shows(OnDisk.failuresChangeNothing),
    arguments: FaultCase.tried)
  func everyCallInParts(_ tried: FaultCase) throws {
    let bench = try FaultBench()
    try tried.prepare(bench)
    let clean = try tried.run(bench)
    let after = try bench.scene.queue().gist
    tally(4)
    for kind in [Fault.Kind.interrupted, .short] {
      for first in [1, 2] {
        let outcome = try tried.run(bench, Fault(at: first, kind: kind, stays: true))
        #expect(outcome.code == clean.code && outcome.text == clean.text, "\(outcome.errorText)")
        #expect(try bench.scene.queue().gist == after)
      }
    }
  }

  private func check(
    _ outcome: Outcome, _ fault: Fault, _ place: String, _ bench: FaultBench, before: [String],
    after: [String], clean: Outcome
  ) throws {
    let now = try bench.scene.queue().gist
    if fault.kind.isDeadly {
      #expect(outcome.code == 128 + SIGKILL, "\(place): \(outcome.code)")
      #expect(now == before || now == after, "\(place)")
    } else if fault.kind.isHarmless || outcome.code == 0 {
      #expect(outcome.code == clean.code, "\(place): \(outcome.errorText)")
      #expect(outcome.text == clean.text, "\(place)")
      #expect(now == after, "\(place)")
    } else {
      #expect(outcome.code == 125, "\(place): \(outcome.code) \(outcome.errorText)")
      #expect(outcome.errorText.hasPrefix("serialq: "), "\(place): \(outcome.errorText)")
      let isDone = outcome.errorText.contains("despite this error")
      #expect(now == (isDone ? after : before), "\(place): \(outcome.errorText)")
    }
  }

  /// The next command finds a valid queue, and continues with it.
  private func checkNext(_ place: String, _ bench: FaultBench) throws {
    let isDamaged = try bench.scene.journalIsDamaged()
    let next = try bench.scene.queue().nextID
    let added = try bench.scene.serialq("add", "--no-start", "-c", "true")
    #expect(added.code == 0 && added.text == "\(next)\n", "\(place): \(added.errorText)")
    let listed = try bench.scene.serialq("list", "--json")
    #expect(listed.code == 0, "\(place): \(listed.errorText)")
    #expect(listed.errors.isEmpty != isDamaged, "\(place): \(listed.errorText)")
    let folder = try bench.scene.queueFolder()
    let queue = try bench.scene.queue()
    for job in queue.jobs {
      #expect(throws: Never.self, "\(place)") {
        try Environments(folder).load(job.context.environment)
      }
    }
    #expect(queue.isConsistent, "\(place)")
  }
}

extension Scene {
  /// Whether a line of the journal differs from what was written.
  func journalIsDamaged() throws -> Bool {
    var reader = JournalReader(try queueFolder())
    return try !reader.read().damaged.isEmpty
  }
}
