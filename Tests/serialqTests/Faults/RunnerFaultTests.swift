import SerialqQueue
@testable import SerialqRunner
import SerialqSystem
import TestSupport
import Testing

/// Injects every error into, and a crash at, every system call that runs jobs or starts a runner.
@Suite(.needs(.cc), .ifFaultsCanBeMade)
struct RunnerFaultTests {
  private static let all: [FaultCase] = [
    FaultCase("run", "run"), FaultCase("run another", "run", "-c", "echo 5 >>ran"),
    FaultCase("add and start", "add", "-c", "echo 5 >>ran"),
    FaultCase("background runner", "background-runner", "default"),
    FaultCase("resume and start", "resume", "--all"), FaultCase("retry and start", "retry", "2"),
    FaultCase("wait", "wait", "4"), FaultCase("start", "start"),
    FaultCase("run with a launcher", launcher: launcher, "run"),
  ]
  private static let launcher = #"sh -c '"$@"; echo "exit $?" >>"$SERIALQ_RESULT"' launcher"#

  /// The cases of a short run; the others run with SERIALQ_LONG only.
  ///
  /// One of a runner whose command adds a job, one of a runner in the background, one of a
  /// launcher.
  private static let tried = isLong ? all : [1, 2, 8].map { all[$0] }

  // Fails when a job starts before its start is durable, a runner that cannot continue reports
  // nothing, or its jobs are not recovered by the next runner: write `started` after the spawn.
  @Test(
    "whichever call fails, no job is lost or runs twice, and every report is true",
    .shows(OnDisk.startIsDurable, OnDisk.failuresChangeNothing), .shows(Running.orphans),
    arguments: tried)
  func everyCall(_ tried: FaultCase) throws {
    let bench = try FaultBench()
    try tried.prepare(bench)
    _ = try bench.takeLog()
    let clean = try run(bench, tried, nil)
    let calls = try bench.calls()
    try settle(bench)
    let ran = try ran(bench)
    #expect(Set(ran).count == ran.count && ran.first == 4)
    try calls.tryFaults(every: 61, from: 11) { fault, call in
      // It waits for the end of a shortage.
      guard !fault.stays || fault.kind.number != Int(EMFILE) else { return }
      let outcome = try run(bench, tried, fault)
      let added = try bench.scene.queue().job(5) != nil
      try settle(bench)
      let place = "\(tried), \(call): \(outcome.errorText)"
      try check(bench, outcome, fault, place, clean)
      if outcome.code == 125, !outcome.errorText.contains("despite this error") {
        #expect(!added, "\(place)")
      }
    }
  }

  private func run(_ bench: FaultBench, _ tried: FaultCase, _ fault: Fault?) throws -> Outcome {
    try FileSystem.remove(bench.scene.path("ran"))
    return try tried.run(bench, fault)
  }

  /// Runs the waiting jobs to their end, and waits for every process that was left behind.
  private func settle(_ bench: FaultBench) throws {
    let outcome = try bench.scene.serialq("wait")
    // Jobs 2 and 3 had failed before.
    #expect(outcome.code == 1, "\(outcome.errorText)")
    try bench.scene.waitForNoRunner()
  }

  private func check(
    _ bench: FaultBench, _ outcome: Outcome, _ fault: Fault, _ place: String, _ clean: Outcome
  ) throws {
    let queue = try bench.scene.queue()
    let ran = try ran(bench)
    #expect(Set(ran).count == ran.count && ran == ran.sorted(), "\(place): \(ran)")
    #expect(queue.overCount == queue.jobs.count && queue.isConsistent, "\(place)")
    #expect(Set(queue.jobs.map(\.id)).isSuperset(of: 1...4), "\(place)")
    for job in queue.jobs where job.id > 3 {
      switch job.state {
      case .succeeded: #expect(ran.contains(job.id), "\(place): \(job.id)")
      // The runner died or could not continue, or no process could be created: each is reported.
      case .interrupted: break
      case .failed:
        let couldRun = ![125, 126].contains(job.exitCode)
        #expect(!couldRun && !ran.contains(job.id), "\(place): \(job.id)")
      default: Issue.record("\(place): job \(job.id) is \(job.state)")
      }
      if fault.kind.isHarmless { #expect(job.state == .succeeded, "\(place)") }
    }
    if fault.kind.isHarmless {
      #expect(outcome.code == clean.code && outcome.text == clean.text, "\(place)")
    } else if !fault.kind.isDeadly, outcome.code != clean.code {
      // Or as its job that could not be run.
      let own = queue.job(5)?.exitCode.map { Int32($0) }
      #expect([125, 1, own].contains(outcome.code), "\(place): \(outcome.code)")
      #expect(outcome.errorText.contains("serialq: "), "\(place)")
    }
  }

  /// The jobs that ran, in the order in which they ran.
  private func ran(_ bench: FaultBench) throws -> [JobID] {
    let file = try FileDescriptor.openIfThere(bench.scene.path("ran"), .read)
    return try file?.readAll().text.split(separator: "\n").compactMap { JobID($0) } ?? []
  }
}
