import Foundation
import TestSupport
import Testing

/// What the compiler does not check.
struct UncheckedTests {
  // Fails if a source has one more `@unchecked Sendable`, or one less, than the table says.
  @Test("CONTRIBUTING counts what the compiler does not check")
  func counts() throws {
    let guide = repository.appendingPathComponent("CONTRIBUTING.md")
    let table = try String(contentsOf: guide, encoding: .utf8)
      .matches(of: /\| `(?<kind>[^`|]+)` \| (?<count>\d+) \|/)
    #expect(table.count == 5)
    let code = try librarySources().map(\.code).joined()
    for row in table {
      #expect(code.split(separator: row.kind).count - 1 == Int(row.count), "\(row.kind)")
    }
  }
}
