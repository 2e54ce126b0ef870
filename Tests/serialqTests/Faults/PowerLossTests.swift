@testable import SerialqQueue
@testable import SerialqSystem
import TestSupport
import Testing

/// A power loss at every point of a command, after another was killed or failed.
@Suite(.needs(.cc), .ifFaultsCanBeMade)
struct PowerLossTests {
  // Fails when a command relies on data that another process wrote and did not flush: leave out
  // `finishWork`, the flush in an `append` of nothing, or the flush of a folder that another
  // process created.
  @Test(
    "a reported success survives a power loss, wherever the previous command was killed",
    .shows(OnDisk.successIsDurable, OnDisk.compaction),
    arguments: FaultCase.tried)
  func afterADeath(_ tried: FaultCase) throws {
    let bench = try FaultBench()
    try tried.prepare(bench)
    _ = try bench.takeLog()
    _ = try tried.run(bench)
    let calls = try bench.calls()
    for call in calls {
      for kind in [Fault.Kind.kill, .torn, .flushFailed] where call.isTried(kind) {
        try bench.restore()
        var check = try PowerLossCheck(
          root: bench.scene.folder.path, random: SeededGenerator(seed: UInt64(call.number)))
        try step(bench, &check, tried, Fault(at: call.number, kind: kind))
        try step(bench, &check, tried, nil)
        try step(bench, &check, FaultCase.all[1], nil)
        #expect(check.reports > 0)
        tally(check.disks)
      }
    }
  }

  private func step(
    _ bench: FaultBench, _ check: inout PowerLossCheck, _ tried: FaultCase, _ fault: Fault?
  ) throws {
    let outcome = try bench.run(
      tried.words, input: tried.input, variables: tried.variables, fault: fault)
    try check.take(bench.takeLog())
    try check.end("\(tried) \(fault.map { "\($0)" } ?? "")", outcome)
  }

  // Fails when success is reported before a flush, or after a flush that was incomplete: leave out
  // a flush, or `leave(.rewriteJournal)`.
  @Test(
    "a reported success survives a power loss at any point of a random history",
    .shows(OnDisk.successIsDurable),
    arguments: 1...(isLong ? 100 : 2))
  func randomHistory(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let bench = try FaultBench()
    var check = try PowerLossCheck(root: bench.scene.folder.path, random: random)
    for _ in 0..<(isLong ? 40 : 12) where !check.hasFailed {
      let words = command(&random, try bench.scene.journal().isEmpty ? nil : bench.scene.queue())
      let kinds: [Fault.Kind] = [.kill, .kill, .torn, .flushFailed, .init(number: Int(ENOSPC))]
      let fault = kinds.randomElement(using: &random).map {
        Fault(at: .random(in: 1...60, using: &random), kind: $0)
      }
      let isFaulty = Int.random(in: 0..<2, using: &random) == 0
      let outcome = try bench.run(
        words, input: "true\nfalse\n", variables: ["EDITOR=echo true >"],
        fault: isFaulty ? fault : nil)
      try check.take(bench.takeLog())
      try check.end(words.joined(separator: " ") + (isFaulty ? ", \(fault as Any)" : ""), outcome)
    }
    #expect(check.reports > 0)
    tally(check.disks)
  }

  // Fails when a log is deleted before the flush: a power loss could bring back its job without it.
  @Test("a log is deleted only after the removal of its job is durable")
  func logs() throws {
    let bench = try FaultBench()
    #expect(try bench.scene.serialq("set", "keep", "1").code == 0)
    #expect(try bench.run(["run", "-f", "-"], input: "true\ntrue\ntrue\n").code == 0)
    let journal = try FileSystem.status(of: bench.scene.queueFolder().journal)
    let number = "\(try #require(journal).identity.inode)"
    var isFlushed = true
    var logs = 0
    for line in try bench.takeLog() {
      if line.hasPrefix("write\t\(number)\t") { isFlushed = false }
      if line == "flush\t\(number)" { isFlushed = true }
      guard line.hasPrefix("unlink\t"), line.contains("/log/") else { continue }
      #expect(isFlushed, "\(line)")
      logs += 1
    }
    #expect(logs == 2)
  }

  private func command(_ random: inout SeededGenerator, _ queue: Queue?) -> [String] {
    let waiting = queue.map { Array($0.waiting) }?.randomElement(using: &random)?.id ?? 1
    let failed = queue?.openJobs.randomElement(using: &random)?.id ?? 1
    let variable = "N=\(Int.random(in: 0...2, using: &random))"
    return [
      ["add", "--no-start", "-c", "true"], ["add", "--no-start", "-e", variable, "-c", "false"],
      ["add", "--no-start", "--unique", "-c", "true"], ["add", "--no-start", "-f", "-"],
      ["run"], ["run", "-c", "exit 3"], ["cancel", "\(waiting)"], ["ack", "\(failed)"],
      ["ack", "--all"], ["move", "\(waiting)", "--first"], ["edit", "\(waiting)"],
      ["pause"], ["pause"], ["resume", "-q", "other"], ["set", "keep", "3"],
      ["set", "on-failure", "continue"], ["clean"], ["clean", "--all"], ["clean", "--all"],
    ].randomElement(using: &random) ?? []
  }
}

extension Fault.Kind {
  /// A flush fails and loses its data.
  fileprivate static let flushFailed = Fault.Kind(number: Int(EIO))
}

extension NotedCall {
  /// Of the failures, those of flushes; in a short run, only the ones that undo the most.
  fileprivate func isTried(_ kind: Fault.Kind) -> Bool {
    switch kind {
    case .kill: isLong || name == "fsync"
    case .flushFailed: name == "fdatasync" || (isLong && name == "fsync")
    default: isLong && kinds.contains(kind)
    }
  }
}
