import TestSupport
import Testing

/// What a command does that is not to depend on what is in the queue.
@Suite(.needs(.cc), .ifFaultsCanBeMade) struct FlatCostTests {
  // Fails when an add looks at more than the journal's end, or at a job's environment or log.
  @Test(
    "an add makes the very same calls for two jobs and for thousands", .shows(OnDisk.addIsFlat),
    arguments: [[], ["--first"], ["-n", "label"]])
  func add(options: [String]) throws {
    let bench = try FaultBench()
    var calls: [[String]] = []
    for count in [2, 5_000 / ease] {
      let lines = String(repeating: "true\n", count: count)
      try bench.run(["add", "--no-start", "-f", "-"], input: lines)
      _ = try bench.takeLog()
      #expect(try bench.run(["add", "--no-start"] + options + ["-c", "true"]).code == 0)
      calls.append(try bench.calls().map(\.name))
    }
    #expect(calls[0] == calls[1] && calls[0].contains("fdatasync"))
  }
}
