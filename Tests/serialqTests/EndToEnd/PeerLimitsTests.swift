@testable import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// Limits of other queues, tested on this one.
@Suite final class PeerLimitsTests: SceneSuite {
  #if os(Linux)
    // tsp: the 994th add hangs forever. nq: 9,000 waiting jobs take 18,000 processes and quadratic
    // time.
    // Fails if an add or a waiting job has a process, descriptor, thread or file of its own.
    @Test(
      "thousands of jobs, and hundreds of adds each by its own process, leave only waiting jobs")
    func flat() throws {
      #expect(try scene.serialq("add", "read x <gate").code == 0)
      let (job, runner) = (try scene.waitForProcess(of: 1), try scene.waitForRunner())
      let (adds, batch) = (isLong ? 5_000 : 200, 9_000 / ease)
      let added = try scene.script("for i in $(seq \(adds)); do serialq add true || exit; done")
      #expect(added.code == 0 && added.errors.isEmpty, "\(added.errorText)")
      #expect(added.text == (1...adds).map { "\($0 + 1)\n" }.joined())
      let more = try scene.serialq("add", "-f", "-") {
        $0.input = Bytes(String(repeating: "true\n", count: batch).utf8)
      }
      #expect(more.text == "\(adds + 2)-\(adds + batch + 1)\n" && more.code == 0)
      // Only the runner and its one job exist.
      #expect(try scene.processes() == [runner, job])
      #expect(try scene.holdings(of: runner) < 100)
      let folder = try scene.queueFolder()
      for path in [folder.logs, folder.locks] {
        #expect(try FileSystem.names(in: path) == [Bytes("1")])
      }
      guard isLong else { return }
      try gate.open()
      #expect(try scene.serialq("wait").code == 0)
      #expect(try scene.queue().count(.succeeded) == adds + batch + 1)
    }
  #endif
}
