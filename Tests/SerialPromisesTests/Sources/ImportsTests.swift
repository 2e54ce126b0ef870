import Foundation
import TestSupport
import Testing

/// The modules that the library imports.
struct ImportsTests {
  // Fails if a source imports another module. Foundation makes every program many megabytes larger.
  @Test(
    "the library imports Dispatch, the C library and the standard library's modules",
    .shows(Managing.imports))
  func imports() throws {
    let allowed = ["Dispatch", "Synchronization", "Darwin", "Glibc", "Musl"]
    let folder = repository.appendingPathComponent("Sources/SerialPromises")
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    let sources = paths.filter { $0.hasSuffix(".swift") }
    #expect(sources.count > 40)
    tally(sources.count)
    for path in sources {
      let text = try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
      for line in text.split(separator: "\n") {
        let words = line.split(separator: " ")
        guard let index = words.firstIndex(of: "import"), !line.contains("//") else { continue }
        #expect(
          allowed.contains { $0 == words[index...].dropFirst().first ?? "" }, "\(path): \(line)")
      }
    }
  }
}
