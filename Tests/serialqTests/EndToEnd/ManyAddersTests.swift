import SerialqSystem
import TestSupport
import Testing

/// Concurrent adders.
@Suite final class ManyAddersTests: SceneSuite {
  // Fails if an id is assigned outside the journal's lock (two jobs share it), or if another adder
  // can split a batch.
  @Test(
    "jobs added by sixteen processes at once are all queued, each once, in their adder's order",
    .shows(OnDisk.appends), .shows(Running.order))
  func addersAtOnce() throws {
    let (adders, each) = (16, isLong ? 4_000 : 8)
    let script = """
      i=0
      while [ $i -lt \(each) ]; do
        i=$((i + 1))
        serialq add --no-start -n "w$0-$i" true || exit
      done
      """
    let running = try (1...adders).map { adder in
      try self.scene.launch(["/bin/sh", "-c", script, "\(adder)"])
    }
    tally(adders * each)
    var printed: [Int] = []
    for (index, process) in running.enumerated() {
      let outcome = try process.wait()
      #expect(outcome.code == 0 && outcome.errors.isEmpty, "\(outcome.errorText)")
      let ids = outcome.text.split(separator: "\n").compactMap { Int($0) }
      #expect(ids.count == each && ids == ids.sorted())
      let queue = try scene.queue()
      let labels = ids.map { queue.job($0)?.label?.text ?? "" }
      #expect(labels == (1...each).map { "w\(index + 1)-\($0)" })
      printed += ids
    }
    #expect(printed.sorted() == Array(1...adders * each))
    #expect(try scene.queue().count(.waiting) == adders * each)
  }

  // Fails if the lines of a file are appended one by one.
  @Test("files added at once stay together", .shows(OnDisk.appends))
  func filesAtOnce() throws {
    let running = try (0..<8).map { adder in
      try self.scene.start("add", "--no-start", "-n", "f\(adder)", "-f", "-") {
        $0.input = Bytes((1...50).map { "echo \($0)\n" }.joined().utf8)
      }
    }
    tally(running.count)
    for process in running { #expect(try process.wait().code == 0) }
    let labels = try scene.queue().jobs.map { $0.label ?? [] }
    let runs = labels.enumerated().filter { $0 == 0 || labels[$0 - 1] != $1 }
    #expect(labels.count == 400 && runs.count == 8)
  }
}
