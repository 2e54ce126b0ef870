import Foundation
import SerialqSystem
import TestSupport
import Testing

// A program that was built with a sanitizer, as the tests were.
extension Scene {
  /// What programs are told by their environment; a runner in the background has another one.
  static let sanitizerOptions: [Bytes] =
    isSanitized
    ? [
      // LeakSanitizer loses sight of an array in an enum of several payloads, because which one it is
      // stands in the upper bits of the pointer: of fifty that a global holds it calls 49 lost.
      Bytes("ASAN_OPTIONS=detect_leaks=0"),
      // The thread sanitizer would sleep for a second before every end of a program with threads.
      Bytes("TSAN_OPTIONS=atexit_sleep_ms=0"),
    ] : []

  /// Expects that no sanitizer has printed anything, wherever it went: a runner in the background
  /// has nobody who looks at its exit code, and some exit codes are those of jobs.
  func expectNoReport() {
    guard isSanitized else { return }
    let names = FileManager.default.enumerator(atPath: folder.path.text)
    while let name = names?.nextObject() as? String {
      let isPrinted = ["files/err-", "/log/", ".log"].contains { name.contains($0) }
      let size = names?.fileAttributes?[.size] as? Int ?? 0
      guard isPrinted, size > 0, size < 1 << 20, let text = try? content(folder.path(name)).text
      else { continue }
      // Not those of leaks: a runner in the background looks for them.
      let reports = ["WARNING: ThreadSanitizer: ", "ERROR: AddressSanitizer: "]
      let start = reports.compactMap { text.range(of: $0)?.lowerBound }.first
      if let start { Issue.record("\(name): \(text[start...].prefix(4_000))") }
    }
  }

  /// Keeps a script that is wrong from filling the disk; not with a sanitizer, which does not start then.
  static let smallFiles = isSanitized ? "" : "ulimit -f 200;"
}
