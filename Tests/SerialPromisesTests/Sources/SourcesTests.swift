import Foundation
import TestSupport
import Testing

/// The sources of the library: what they import, their layers, and what the compiler does not
/// check.
struct SourcesTests {
  // Fails if a source imports another module. Foundation makes every program many megabytes larger.
  @Test(
    "the library imports Dispatch, the C library and the standard library's modules",
    .shows(Managing.imports))
  func imports() throws {
    let allowed = ["Dispatch", "Synchronization", "Darwin", "Glibc", "Musl"]
    let sources = try Self.librarySources()
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

  // Fails if a source has one more `@unchecked Sendable`, or one less, than the table says.
  @Test("CONTRIBUTING counts what the compiler does not check")
  func counts() throws {
    let guide = repository.appendingPathComponent("CONTRIBUTING.md")
    let table = try String(contentsOf: guide, encoding: .utf8)
      .matches(of: /\| `(?<kind>[^`|]+)` \| (?<count>\d+) \|/)
    #expect(table.count == 5)
    let code = try Self.librarySources().map(\.code).joined()
    for row in table {
      #expect(code.split(separator: row.kind).count - 1 == Int(row.count), "\(row.kind)")
    }
  }

  // Fails if an operator is added or renamed: name it in CHANGELOG.
  @Test("CHANGELOG names every operator of promises")
  func changelog() throws {
    let file = repository.appendingPathComponent("CHANGELOG.md")
    let sections = try String(contentsOf: file, encoding: .utf8).split(separator: "\n### ")
    let library = try #require(sections.first { $0.hasPrefix("SerialPromises\n") })
    let declaration = /(?m)^ *public (static )?func `?(?<name>\w+)/
    let operators = Set(
      try Self.librarySources().filter {
        $0.path.contains(/Promise(\+\w+)?\.swift$|Combinators|Modifiers/)
      }.flatMap { $0.code.matches(of: declaration).map { String($0.name) } })
    #expect(operators.isSuperset(of: ["map", "when", "timeout", "catch"]))
    for name in operators.sorted() {
      #expect(library.contains("`\(name)`") || library.contains("`\(name)("), "\(name)")
    }
  }

  // MARK: Layers

  /// From the bottom up.
  ///
  /// The last two do not use each other. The top folder is the public API.
  private static let layers = [
    ["Support"], ["Vocabulary"], ["Order"], ["Settlement"], [""], ["Combinators", "Modifiers"],
  ]

  private struct Source {
    let path: String
    let folder: String
    /// The source without comments and string literals.
    let code: String

    /// The types that other files may use.
    var types: [String] {
      let declaration =
        /^(?:@\w+(?:\([^)]*\))? )*(?<access>(?:\w+ )*?)(?:struct|class|enum|protocol|actor|typealias) (?<name>\w+)/
        .anchorsMatchLineEndings()
      return code.matches(of: declaration).filter { !$0.access.contains("private") }
        .map { String($0.name) }
    }

    var words: Set<String> { Set(code.matches(of: /\b[A-Z]\w*/).map { String($0.0) }) }
  }

  // Fails if a file uses a type of a higher layer: name `PromiseManager` in a file of `Order`.
  @Test("a folder of the library uses only the layers below it")
  func oneWay() throws {
    let sources = try Self.sources()
    var home: [String: String] = [:]
    for source in sources { for type in source.types { home[type] = source.folder } }
    #expect(home["SerialOrder"] == "Order" && home["PromiseManager"] == "")
    for source in sources {
      let rank = try #require(Self.rank(source.folder), "\(source.path) is in no layer")
      for word in source.words {
        guard let folder = home[word], folder != source.folder else { continue }
        let used = try #require(Self.rank(folder), "\(word) is in no layer")
        #expect(used < rank, "\(source.path) uses \(word), which is in a higher layer")
      }
    }
  }

  private static func rank(_ folder: String) -> Int? {
    layers.firstIndex { $0.contains(folder) }
  }

  private static func sources() throws -> [Source] {
    try librarySources().map { path, code in
      let code = code.replacing(/"(?:\\.|[^"\\\n])*"/, with: "")
      let folder = path.contains("/") ? String(path.prefix { $0 != "/" }) : ""
      return Source(path: path, folder: folder, code: code)
    }
  }

  /// The sources of the library by their paths in its folder, without comments.
  private static func librarySources() throws -> [(path: String, code: String)] {
    let folder = repository.appendingPathComponent("Sources/SerialPromises")
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    return try paths.filter { $0.hasSuffix(".swift") && !$0.contains(".docc/") }.map { path in
      let text = try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
      return (path, text.replacing(/\/\/[^\n]*/, with: ""))
    }
  }
}
