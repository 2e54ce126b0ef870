import Foundation
import TestSupport
import Testing

@testable import SerialPromises

/// Compiles the code of the article "Compiler errors": the mistakes, with their messages,
/// and the fixes.
struct CompilerMessagesTests {
  private struct Row {
    let wrong: String
    let message: String
    let right: String
  }

  private static let prelude = #"""
    import Foundation
    import SerialPromises

    extension PromiseError: @retroactive LocalizedError {
      public var errorDescription: String? { "\(self)" }
    }

    struct Missing: Error {}
    func show(_ x: some Sendable) {}
    func report(_ x: some Sendable) async {}
    func load(_ url: String) async throws -> String { url }
    func fetch(_ url: String) -> Promise<String> { .value(url) }
    func download(_ done: @escaping @Sendable () -> Void) { done() }
    func upload(_ url: String, _ done: @escaping @Sendable ((any Error)?) -> Void) { done(nil) }
    func request(_ url: String, _ done: @escaping @Sendable (Result<String, any Error>) -> Void) {
      done(.success(url))
    }
    @MainActor final class Label { var number = 0; nonisolated init() {} }
    let label = Label()
    """#

  // Fails if a documented message differs from the compiler's, or a fix does not compile.
  @Test("the documented compiler messages are those of the compiler")
  func messages() throws {
    let rows = try rows()
    #expect(rows.count >= 40)
    let wrong = try check(rows.map(\.wrong))
    let right = try check(rows.map(\.right))
    for (index, row) in rows.enumerated() {
      let errors = wrong.filter { $0.contains("row\(index).swift") && $0.contains("error:") }
      #expect(
        errors.contains { $0.contains(row.message) },
        "`\(row.wrong)` is answered: \(errors.joined(separator: "\n"))")
      let left = right.filter { $0.contains("row\(index).swift") && $0.contains("error:") }
      #expect(left.isEmpty, "`\(row.right)` is answered: \(left.joined(separator: "\n"))")
    }
  }

  /// The pairs of the article: in a section that begins with a message, each block between tildes.
  private func rows() throws -> [Row] {
    let article = repository.appendingPathComponent(
      "Sources/SerialPromises/SerialPromises.docc/WhenItDoesNotCompile.md")
    let text = try String(contentsOf: article, encoding: .utf8)
    return text.split(separator: "\n### ").dropFirst().flatMap { section in
      let message = section.firstMatch(of: /\n\n`(.+)`\n/)?.1 ?? "a message in code"
      return section.matches(of: /~~~swift\n\/\/ Wrong:\n((?s).*?)\n\/\/ Right:\n((?s).*?)\n~~~/)
        .map {
          Row(wrong: String($0.1), message: String(message), right: String($0.2))
        }
    }
  }

  /// - Returns: The compiler messages for each snippet, which is compiled in its own function.
  private func check(_ snippets: [String]) throws -> [String] {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var files = [folder.appendingPathComponent("prelude.swift")]
    try Self.prelude.write(to: files[0], atomically: true, encoding: .utf8)
    for (index, snippet) in snippets.enumerated() {
      let file = folder.appendingPathComponent("row\(index).swift")
      let effect = snippet.contains("= try await") ? "async throws" : "throws"
      let source = """
        import SerialPromises

        func row\(index)(_ manager: PromiseManager, _ promise: Promise<Int>, _ url: String) \(effect) {
          \(snippet)
        }
        """
      try source.write(to: file, atomically: true, encoding: .utf8)
      files.append(file)
    }
    let modules = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appendingPathComponent("Modules")
    try #require(
      FileManager.default.fileExists(atPath: modules.path), "the folder of the tests has no modules"
    )
    let (compiler, output) = (Process(), Pipe())
    compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    compiler.arguments =
      [
        "swiftc", "-typecheck", "-continue-building-after-errors", "-parse-as-library",
        "-swift-version", "6", "-I", modules.path,
      ]
      + files.map(\.path)
    compiler.standardError = output
    try compiler.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    compiler.waitUntilExit()
    return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}
