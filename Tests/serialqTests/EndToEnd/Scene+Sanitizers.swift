import Foundation
import SerialqSystem
import TestSupport
import Testing

// Support for a program that was built with a sanitizer, as the tests were.
extension Scene {
  /// Options in the environment of programs; a background runner has another environment.
  static let sanitizerOptions: [Bytes] =
    isSanitized
    ? [
      // LeakSanitizer does not detect an array in an enum with several payloads, because the case
      // is stored in the upper bits of the pointer: of fifty in a global it reports 49 as leaks.
      Bytes("ASAN_OPTIONS=detect_leaks=0"),
      // The thread sanitizer would sleep for a second at every exit of a program with threads.
      Bytes("TSAN_OPTIONS=atexit_sleep_ms=0"),
    ] : []

  /// Expects that no sanitizer has printed a report to any file: the exit code of a background
  /// runner is not checked, and some exit codes are those of jobs.
  func expectNoReport() {
    guard isSanitized else { return }
    let names = FileManager.default.enumerator(atPath: folder.path.text)
    while let name = names?.nextObject() as? String {
      let isPrinted = ["files/err-", "/log/", ".log"].contains { name.contains($0) }
      let size = names?.fileAttributes?[.size] as? Int ?? 0
      guard isPrinted, size > 0, size < 1 << 20, let text = try? content(folder.path(name)).text
      else { continue }
      // Not leak reports: a background runner checks for leaks.
      let reports = ["WARNING: ThreadSanitizer: ", "ERROR: AddressSanitizer: "]
      let start = reports.compactMap { text.range(of: $0)?.lowerBound }.first
      if let start { Issue.record("\(name): \(text[start...].prefix(4_000))") }
    }
  }
}
