import SerialqSystem
import TestSupport
import Testing

/// Injects every error into, and a crash at, every system call that writes a page.
@Suite(.needs(.cc), .ifFaultsCanBeMade)
struct ReportFaultTests {
  // Fails when the page is written over the old one, when a partial page is left behind, or when
  // success is reported without a page: leave out the removal, or the rename.
  @Test(
    "whichever call fails, the page is the old one or a complete new one, as reported",
    .shows(OnDisk.failuresChangeNothing))
  func everyCall() throws {
    let bench = try FaultBench()
    #expect(try bench.scene.serialq("run", "echo said; exit 3").code == 3)
    let page = bench.scene.path("page")
    func run(_ fault: Fault?) throws -> Outcome {
      try write(Bytes("old"), to: page)
      return try bench.run(["report", "--html", "page"], fault: fault)
    }
    _ = try bench.takeLog()
    #expect(try run(nil).code == 0)
    try bench.calls().tryFaults(every: 7, from: 3) { fault, call in
      let outcome = try run(fault)
      let place = "\(call): \(outcome.code) \(outcome.errorText)"
      let text = try content(page).text
      let isNew = text.hasPrefix("<!DOCTYPE html>\n") && text.hasSuffix("</html>\n")
      #expect(isNew || text == "old", "\(place)")
      let names = try FileSystem.names(in: bench.scene.work).filter { $0 != Bytes("page") }
      if fault.kind.isDeadly {
        #expect(outcome.code == 128 + SIGKILL, "\(place)")
      } else {
        #expect(isNew == (outcome.code == 0), "\(place)")
        #expect([0, 125].contains(outcome.code), "\(place)")
        #expect(!fault.kind.isHarmless || outcome.code == 0, "\(place)")
        // If every later call is refused too, so is the removal.
        #expect(names.isEmpty || fault.stays, "\(place)")
      }
      for name in names { try FileSystem.remove(bench.scene.work.appending(path: name)) }
    }
  }
}
