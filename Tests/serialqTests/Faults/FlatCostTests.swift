import TestSupport
import Testing

/// The part of a command's cost that must not depend on the content of the queue.
@Suite(.needs(.cc), .ifFaultsCanBeMade) struct FlatCostTests {
  // Fails when an add reads more than the journal's end, or reads a job's environment or log.
  @Test(
    "an add makes exactly the same calls for two jobs and for thousands", .shows(OnDisk.addIsFlat))
  func add() throws {
    let bench = try FaultBench()
    var calls: [[[String]]] = []
    for count in [2, 5_000 / ease] {
      let lines = String(repeating: "true\n", count: count)
      try bench.run(["add", "--no-start", "-f", "-"], input: lines)
      let added = try [[], ["--first"], ["-n", "label"]].map { options in
        _ = try bench.takeLog()
        #expect(try bench.run(["add", "--no-start"] + options + ["-c", "true"]).code == 0)
        return try bench.calls().map(\.name)
      }
      calls.append(added)
    }
    #expect(calls[0] == calls[1] && calls[0].allSatisfy { $0.contains("fdatasync") })
    tally(3)
  }
}
