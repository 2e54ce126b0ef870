import Foundation
import SerialPromises
import Testing

/// Names the guarantees that a test covers.
///
/// When the test has passed with all its arguments, it appends one line for each guarantee to the
/// file `SERIALQ_SHOWN`, from which `.ci/shown` makes the table of guarantees.
package struct Shows: TestTrait, SuiteTrait, TestScoping {
  fileprivate let rows: [String]
  /// Whether all tests of a suite share one line.
  fileprivate let isOfSuite: Bool

  /// On a suite, the trait applies to each of its tests.
  package var isRecursive: Bool { true }

  /// Returns the trait for the scopes that it records: the whole suite or test, and each argument
  /// of a test.
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
    // A line covers all arguments: a run that is killed before the last one appends none.
    let cases = tally.count.number
    guard testCase == nil, cases > 0, !tally.hasFailed.load(ordering: .relaxed) else { return }
    // A nested suite inherits the trait; its tests belong to the line of the outer suite.
    guard !isOfSuite || outer?.isPart(of: rows) != true else { return }
    let suite = test.sourceLocation.fileName.dropLast(".swift".count)
    let name = isOfSuite ? "\(suite)" : "\(suite): \(test.displayName ?? test.name)"
    Record.append(rows.map { "\($0)\t\(name)\t\(cases)\n" }, to: file)
  }
}

extension Trait where Self == Shows {
  /// The test covers these guarantees.
  package static func shows<Subject: Guarantee>(_ guarantees: Subject...) -> Self {
    Shows(rows: guarantees.map(Record.row), isOfSuite: false)
  }

  /// The tests of the suite together cover this guarantee.
  package static func allShow<Subject: Guarantee>(_ guarantee: Subject) -> Self {
    Shows(rows: [Record.row(guarantee)], isOfSuite: true)
  }
}

/// Adds to the case count of the running test; a test that adds none counts as one case.
package func tally(_ cases: Int) {
  Tally.current?.count.add(cases)
}

/// The case count of a running suite, test or argument, and whether a case failed.
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

  /// Whether this scope or an outer one records these rows.
  func isPart(of rows: [String]) -> Bool {
    self.rows == rows || outer?.isPart(of: rows) == true
  }

  /// Adds the count of an inner scope; an argument without a count is one case.
  func add(_ inner: Tally, isArgument: Bool) {
    count.add(max(inner.count.number, isArgument ? 1 : 0))
    if inner.hasFailed.load(ordering: .relaxed) { hasFailed.store(true, ordering: .relaxed) }
  }
}

private enum Record {
  static let file: String? = {
    let file = ProcessInfo.processInfo.environment["SERIALQ_SHOWN"]
    guard let file, !file.isEmpty else { return nil }
    append(["\(isLong ? "long" : "short")\n"], to: file)
    // List every guarantee first: `.ci/shown` reports those that no test covers.
    for subject in allGuarantees { append(rows(subject), to: file) }
    // A killed run has no end mark, so `.ci/shown` does not accept it as complete.
    atexit { Record.file.map { Record.append(["end\n"], to: $0) } }
    return file
  }()

  static func row<Subject: Guarantee>(_ guarantee: Subject) -> String {
    "\(Subject.subject)\t\(guarantee.rawValue)"
  }

  private static func rows<Subject: Guarantee>(_ subject: Subject.Type) -> [String] {
    subject.allCases.map { "\(row($0))\n" }
  }

  /// Appends in a single write, because test processes share the file.
  static func append(_ lines: [String], to file: String) {
    guard let stream = fopen(file, "a") else { return }
    fputs(lines.joined(), stream)
    fclose(stream)
  }
}
