import Foundation
import Testing

/// Checks that every documented example is tested.
struct ExamplesAreTested {
  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// The lines of each Swift example in a text, without indentation and comment marks.
  ///
  /// Not those that begin as a file does: `.ci/import` compiles them.
  private static func examples(in text: String) -> [[String]] {
    var found: [[String]] = []
    var current: [String]?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      var bare = line.trimmingCharacters(in: .whitespaces)
      if bare == "///" || bare.hasPrefix("/// ") {
        bare = bare.dropFirst(3).trimmingCharacters(in: .whitespaces)
      }
      if bare == "```swift" {
        current = []
      } else if bare == "```", let example = current {
        let isFile = ["import ", "// swift-tools-version"].contains {
          example.first?.hasPrefix($0) == true
        }
        if !isFile { found.append(example) }
        current = nil
      } else if !bare.isEmpty {
        current?.append(bare)
      }
    }
    return found
  }

  private static func files(below folder: String, ending: String) -> [URL] {
    let folder = root.appendingPathComponent(folder)
    let all = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    return (all?.allObjects as? [URL] ?? []).filter { $0.lastPathComponent.hasSuffix(ending) }
  }

  private static func bareLines(of file: URL) throws -> String {
    try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
      .map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
  }

  // Fails if an example in the README or in a documentation comment is changed or added without a
  // test that runs the same lines.
  @Test("every example in the documentation is part of a test, word for word")
  func examples() throws {
    let tests = try ExamplesAreTested.files(below: "Tests/SerialPromisesTests", ending: ".swift")
      .map(ExamplesAreTested.bareLines)
    let documents =
      ExamplesAreTested.files(below: "Sources/SerialPromises", ending: ".swift")
      + ExamplesAreTested.files(below: "Sources/SerialPromises/SerialPromises.docc", ending: ".md")
      + [ExamplesAreTested.root.appendingPathComponent("README.md")]
    var count = 0
    for document in documents {
      let text = try String(contentsOf: document, encoding: .utf8)
      for example in ExamplesAreTested.examples(in: text) {
        count += 1
        let lines = example.joined(separator: "\n")
        #expect(
          tests.contains { $0.contains(lines) },
          "\(document.lastPathComponent): this example is in no test:\n\(lines)")
      }
    }
    #expect(count >= 150)
  }
}
