import Foundation
import Synchronization
import Testing

/// Names the guarantees that a test shows.
///
/// When the test has passed with all its arguments, it appends one line for each guarantee to the
/// file that `SERIALQ_SHOWN` names. `.ci/shown` makes the table in Documentation/Guarantees.md from
/// that file.
package struct Shows: TestTrait, SuiteTrait, TestScoping {
  fileprivate let rows: [String]
  /// Whether all tests of a suite are one line.
  fileprivate let isOfSuite: Bool

  /// On a suite, the trait applies to each of its tests.
  package var isRecursive: Bool { true }

  /// Returns the trait where it counts: around the suite or the test as a whole, and around each
  /// argument of a test.
  package func scopeProvider(for test: Test, testCase: Test.Case?) -> Shows? {
    let isWhole = testCase == nil
    return !isWhole || test.isSuite == isOfSuite ? self : nil
  }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
  ) async throws {
    guard let file = Record.file else { return try await body() }
    let outer = Tally.current
    let tally = Tally(of: rows, in: outer)
    defer { outer?.add(tally, isArgument: testCase != nil) }
    do {
      try await Tally.$current.withValue(tally) {
        let watching = IssueHandlingTrait.filterIssues { _ in
          tally.hasFailed.store(true, ordering: .relaxed)
          return true
        }
        try await watching.provideScope(for: test, testCase: testCase, performing: body)
      }
    } catch {
      tally.hasFailed.store(true, ordering: .relaxed)
      throw error
    }
    // A line counts for all arguments: a run that is killed before the last one leaves none.
    let cases = tally.count.load(ordering: .relaxed)
    guard testCase == nil, cases > 0, !tally.hasFailed.load(ordering: .relaxed) else { return }
    // A suite inside the suite inherits the trait: its tests are part of the outer line.
    guard !isOfSuite || outer?.isPart(of: rows) != true else { return }
    let suite = test.sourceLocation.fileName.dropLast(".swift".count)
    let name = isOfSuite ? "\(suite)" : "\(suite): \(test.displayName ?? test.name)"
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

/// Adds to the number of cases that the running test has tried; a test that adds none counts as one.
package func tally(_ cases: Int) {
  Tally.current?.count.add(cases, ordering: .relaxed)
}

/// The cases of a suite, a test or an argument that runs, and whether one of them failed.
private final class Tally: Sendable {
  @TaskLocal static var current: Tally?

  let count = Atomic(0)
  let hasFailed = Atomic(false)
  private let rows: [String]
  private let outer: Tally?

  init(of rows: [String], in outer: Tally?) {
    self.rows = rows
    self.outer = outer
  }

  /// Whether it counts for these rows, itself or through an outer scope.
  func isPart(of rows: [String]) -> Bool {
    self.rows == rows || outer?.isPart(of: rows) == true
  }

  /// Adds what an inner scope counted; an argument that counted nothing is one case.
  func add(_ inner: Tally, isArgument: Bool) {
    count.add(
      max(inner.count.load(ordering: .relaxed), isArgument ? 1 : 0), ordering: .relaxed)
    if inner.hasFailed.load(ordering: .relaxed) { hasFailed.store(true, ordering: .relaxed) }
  }
}

private enum Record {
  static let file: String? = {
    let file = ProcessInfo.processInfo.environment["SERIALQ_SHOWN"]
    guard let file, !file.isEmpty else { return nil }
    append(["\(isLong ? "long" : "short")\n"], to: file)
    // Lists every guarantee first: `.ci/shown` reports those that no test shows.
    for subject in allGuarantees { append(rows(subject), to: file) }
    // Absent after a run that was killed, which `.ci/shown` does not take for all tests.
    atexit { Record.file.map { Record.append(["end\n"], to: $0) } }
    return file
  }()

  static func row<Subject: Guarantee>(_ guarantee: Subject) -> String {
    "\(Subject.subject)\t\(guarantee.rawValue)"
  }

  private static func rows<Subject: Guarantee>(_ subject: Subject.Type) -> [String] {
    subject.allCases.map { "\(row($0))\n" }
  }

  /// Appends with one write: test processes share the file.
  static func append(_ lines: [String], to file: String) {
    guard let stream = fopen(file, "a") else { return }
    fputs(lines.joined(), stream)
    fclose(stream)
  }
}
