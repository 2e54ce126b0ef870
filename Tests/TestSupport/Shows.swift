import Foundation
import Synchronization
import Testing

/// Says what a test shows: when the test has passed, a line about it is added to the file named by
/// `SERIALQ_SHOWN`, of which `.ci/shown` makes the table in CONTRIBUTING.md.
package struct Shows: TestTrait, SuiteTrait, TestScoping {
  fileprivate let rows: [String]
  /// Whether all tests of a suite are one line.
  fileprivate let isOfSuite: Bool

  /// For a suite, which hands it on to its tests.
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws {
    guard let file = Record.file else { return try await body() }
    // One for all the test's traits: each sees what was tried in it.
    let tally = Tally.current ?? Tally()
    try await Tally.$current.withValue(tally) {
      let watching = IssueHandlingTrait.filterIssues { _ in
        tally.hasFailed.store(true, ordering: .relaxed)
        return true
      }
      try await watching.provideScope(for: test, testCase: testCase, performing: body)
    }
    guard !tally.hasFailed.load(ordering: .relaxed) else { return }
    let suite = test.sourceLocation.fileName.dropLast(".swift".count)
    let name = isOfSuite ? "\(suite)" : "\(suite): \(test.displayName ?? test.name)"
    let cases = max(tally.count.load(ordering: .relaxed), 1)
    Record.append(rows.map { "\($0)\t\(name)\t\(cases)\n" }, to: file)
  }
}

extension Trait where Self == Shows {
  /// The test shows these guarantees.
  package static func shows<Subject: Guarantee>(_ guarantees: Subject...) -> Self {
    Shows(rows: guarantees.map(Record.row), isOfSuite: false)
  }

  /// All tests of the suite together show this guarantee.
  package static func allShow<Subject: Guarantee>(_ guarantee: Subject) -> Self {
    Shows(rows: [Record.row(guarantee)], isOfSuite: true)
  }
}

/// Says that the test that runs has tried so many cases; one that says nothing has tried one.
package func tally(_ cases: Int) {
  Tally.current?.count.add(cases, ordering: .relaxed)
}

/// What is known of a test that runs.
private final class Tally: Sendable {
  @TaskLocal static var current: Tally?

  let count = Atomic(0)
  let hasFailed = Atomic(false)
}

private enum Record {
  static let file: String? = {
    let file = ProcessInfo.processInfo.environment["SERIALQ_SHOWN"]
    guard let file, !file.isEmpty else { return nil }
    // First all there are, so that what no test shows is seen.
    for subject in allGuarantees { append(rows(subject), to: file) }
    return file
  }()

  static func row<Subject: Guarantee>(_ guarantee: Subject) -> String {
    "\(Subject.subject)\t\(guarantee.rawValue)"
  }

  private static func rows<Subject: Guarantee>(_ subject: Subject.Type) -> [String] {
    subject.allCases.map { "\(row($0))\n" }
  }

  /// In one write each, because several programs may do so at the same time.
  static func append(_ lines: [String], to file: String) {
    guard let stream = fopen(file, "a") else { return }
    fputs(lines.joined(), stream)
    fclose(stream)
  }
}
