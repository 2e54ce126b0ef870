import Testing

/// The folders of the library are layers, like targets that share one public module.
struct LayersTests {
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
}
