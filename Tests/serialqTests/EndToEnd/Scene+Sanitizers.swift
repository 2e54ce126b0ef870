import Foundation
import TestSupport
import Testing

@testable import serialq

// A program that was built with a sanitizer, as the tests were.
extension Scene {
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
      let start = text.range(of: "Sanitizer: ")?.lowerBound
      if let start { Issue.record("\(name): \(text[start...].prefix(4_000))") }
    }
  }
}
