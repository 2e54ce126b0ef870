import Foundation
import Testing

@testable import serialq

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

// A program that was built with a sanitizer, as the tests were.
extension Scene {
  /// Whether a sanitizer watches the tests, and the program that was built with them.
  static let isSanitized: Bool = {
    let program = dlopen(nil, RTLD_NOW)
    return dlsym(program, "__tsan_init") != nil || dlsym(program, "__asan_init") != nil
  }()

  /// What is tried many times is tried so many times fewer when a sanitizer watches: it finds what
  /// it looks for by what a program does, and not by how often it does it.
  static let ease = isSanitized ? 4 : 1

  /// Expects that no sanitizer has printed anything, wherever it went: a runner in the background
  /// has nobody who looks at its exit code, and some exit codes are those of jobs.
  func expectNoReport() {
    guard Self.isSanitized else { return }
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
