import Foundation
import TestSupport
import Testing

/// Checks that every documented example is tested.
struct ExamplesAreTested {
  /// The lines of each Swift example in a text, without indentation and comment marks.
  ///
  /// Not those that begin as a file does: `.ci/import` compiles them.
  private static func examples(in text: String) -> [String] {
    let unmarked = text.replacing(/(?m)^ *\/\/\/ ?/, with: "")
    return blocks(of: "swift", in: bareLines(of: unmarked)).filter { example in
      !["import ", "// swift-tools-version"].contains { example.hasPrefix($0) }
    }
  }

  private static func files(below folder: String, ending: String) -> [URL] {
    let folder = repository.appendingPathComponent(folder)
    let all = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    return (all?.allObjects as? [URL] ?? []).filter { $0.lastPathComponent.hasSuffix(ending) }
  }

  /// A text without empty lines and indentation.
  private static func bareLines(of text: String) -> String {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty }.map { "\($0)\n" }.joined()
  }

  // Fails if an example in the README or in a documentation comment is changed or added without a
  // test that runs the same lines.
  @Test("every example in the documentation is part of a test, word for word")
  func examples() throws {
    let tests = try Self.files(below: "Tests/SerialPromisesTests", ending: ".swift")
      .map { Self.bareLines(of: try String(contentsOf: $0, encoding: .utf8)) }
    let documents =
      Self.files(below: "Sources/SerialPromises", ending: ".swift")
      + Self.files(below: "Sources/SerialPromises/SerialPromises.docc", ending: ".md")
      + [repository.appendingPathComponent("README.md")]
    var count = 0
    for document in documents {
      let text = try String(contentsOf: document, encoding: .utf8)
      for example in Self.examples(in: text) {
        count += 1
        #expect(
          tests.contains { $0.contains(example) },
          "\(document.lastPathComponent): this example is in no test:\n\(example)")
      }
    }
    #expect(count >= 150)
  }
}
