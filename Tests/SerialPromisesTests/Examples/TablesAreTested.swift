import Foundation
import TestSupport
import Testing

/// Checks that the code in the reference tables is tested.
struct TablesAreTested {
  /// An article with a table.
  enum Table: String, CaseIterable, CustomTestStringConvertible {
    case promiseKit = "PromiseKit"
    case omPromises = "OMPromises"
    case es6 = "ES6"
    case otherQueues = "OtherQueues"
    case combine = "Combine"

    var article: URL {
      let name = self == .es6 ? "ES6Promises" : rawValue
      return repository.appendingPathComponent(
        "Sources/SerialPromises/SerialPromises.docc/IfYouKnow\(name).md")
    }

    var testDescription: String { rawValue }
  }

  // Fails if code in the right column is changed or added without a test that runs it word for
  // word.
  @Test(
    "all code in the right column of a table is part of its tests, word for word",
    arguments: Table.allCases
  )
  func cells(_ table: Table) throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    let code = try files.filter { $0.hasSuffix("Examples.swift") }.map { file in
      let text = try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8)
      return TablesAreTested.code(in: text)
    }.joined(separator: " ")
    let rows = TablesAreTested.rows(in: try String(contentsOf: table.article, encoding: .utf8))
    #expect(rows.count >= 14, "\(rows.count) rows were found in \(table.article.lastPathComponent)")
    for row in rows {
      let spans = TablesAreTested.codeSpans(in: row.ours)
      #expect(!spans.isEmpty, "the row of \(row.theirs) has no code")
      for span in spans {
        let isThere = TablesAreTested.stands(span, in: code)
        #expect(isThere, "the row of \(row.theirs): `\(span)` is not in the examples")
      }
    }
  }

  // Fails if links to symbols count as code, if code in the text of a link does not, or if a part
  // of a longer word, a comment or a test's name counts as an occurrence of code.
  @Test("code is found in cells, and occurrences are found in code only")
  func reading() {
    let cell = "[`a.b()`](doc:A/b()), or ``A/b()``, `c  d`"
    let rows = TablesAreTested.rows(in: "text\n\n| theirs | ours |\n|---|---|\n| `b` | \(cell) |\n")
    #expect(rows.map(\.theirs) == ["`b`"])
    #expect(rows.map { TablesAreTested.codeSpans(in: $0.ours) } == [["a.b()", "c d"]])

    let lines = "// in(comment)\n@Test(\"in a name\")\nlet x = value\n  .then(other)"
    let code = TablesAreTested.code(in: lines)
    for present in ["value .then(other)", ".then(other)", "other"] {
      #expect(TablesAreTested.stands(present, in: code))
    }
    for absent in ["alue", "valu", "in(comment)", "in a name"] {
      #expect(!TablesAreTested.stands(absent, in: code))
    }
  }

  // MARK: Reading

  /// The rows of the table in an article, without its head.
  private static func rows(in article: String) -> [(theirs: String, ours: String)] {
    let lines = article.split(separator: "\n").filter { $0.hasPrefix("|") }
    return lines.dropFirst(2).map { line in
      let cells = line.dropFirst().split(separator: "|", maxSplits: 1)
        .map { $0.trimmingCharacters(in: .whitespaces) }
      return (cells.first ?? "", cells.count == 2 ? cells[1] : "")
    }
  }

  /// The text between single backticks.
  ///
  /// Text between double backticks is a link, which `docc` checks.
  private static func codeSpans(in cell: String) -> [String] {
    cell.matches(of: /(?<ticks>`+)(?<code>[^`]+)`+/)
      .filter { $0.output.ticks == "`" }
      .map { onOneLine(String($0.output.code)) }
  }

  /// The code of a file on one line, without comments and test names.
  private static func code(in file: String) -> String {
    let lines = file.split(separator: "\n")
      .map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.hasPrefix("//") && !$0.hasPrefix("@Test") }
    return onOneLine(lines.joined(separator: " "))
  }

  private static func onOneLine(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  /// Whether code occurs in other code, and not as a part of longer words.
  private static func stands(_ span: String, in code: String) -> Bool {
    code.ranges(of: span).contains { range in
      let before = code[..<range.lowerBound].last, after = code[range.upperBound...].first
      return !(isInWord(before) && isInWord(span.first))
        && !(isInWord(after) && isInWord(span.last))
    }
  }

  private static func isInWord(_ character: Character?) -> Bool {
    guard let character else { return false }
    return character.isLetter || character.isNumber || character == "_"
  }
}
