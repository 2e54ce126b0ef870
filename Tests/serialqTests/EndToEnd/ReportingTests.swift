import SerialqQueue
import SerialqSystem
import TestSupport
import Testing

/// `serialq report`, and the file that it writes.
@Suite final class ReportingTests: SceneSuite {
  // Fails if the error is ignored, or leaves a partial file.
  @Test(
    "a page that cannot be written is a failure, and leaves nothing",
    .enabled(if: !isSanitized, "a sanitizer does not start within such a limit"))
  func unwritable() throws {
    try scene.add("true")
    // A limit that the page exceeds: the write fails half way.
    let limited = "trap '' XFSZ; printf old >page; ulimit -f 1; serialq report --html page"
    #expect(try scene.script(limited).code == 125)
    #expect(try content(scene.path("page")).text == "old")
    #expect(try scene.fileNames() == ["page"])
  }
}
