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
    let sources = try librarySources()
    #expect(sources.count > 40)
    tally(sources.count)
    for (path, code) in sources {
      for line in code.split(separator: "\n") {
        let words = line.split(separator: " ")
        guard let index = words.firstIndex(of: "import") else { continue }
        #expect(
          allowed.contains { $0 == words[index...].dropFirst().first ?? "" }, "\(path): \(line)")
      }
    }
  }
}
