import Foundation
import TestSupport

/// Executes scenarios one after another, and reports a failing one with its seed, reduced in size.
struct ScenarioSearch {
  /// The size of the search, from the environment.
  struct Settings: Sendable {
    var seed: UInt64?
    var operations: Int
    var patience: Duration
    /// Whether to continue after a failure, and to count the kinds of violations.
    var isCensus: Bool
    /// The kind of violation to search for, by the name of its case; nil for any.
    var kind: String?
    /// Whether to print the first seed, which shows where a crash came from.
    var printsSeed: Bool

    static let current: Settings = {
      let environment = ProcessInfo.processInfo.environment
      let operations = environment["SERIALQ_SEARCH"].flatMap { Int($0) }
      let patience = environment["SERIALQ_PATIENCE"].flatMap { Double($0) }
      return Settings(
        seed: environment["SERIALQ_SEED"].flatMap(number),
        operations: operations ?? (isLong ? 1_000_000 : 10_000 / ease),
        patience: .seconds(patience ?? 60), isCensus: environment["SERIALQ_CENSUS"] == "1",
        kind: environment["SERIALQ_KIND"], printsSeed: operations != nil || isLong)
    }()

    private static func number(_ text: String) -> UInt64? {
      text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : UInt64(text)
    }
  }

  /// A scenario that violated a rule.
  struct Failure: Sendable, CustomStringConvertible {
    let seed: UInt64
    let violations: [Violation]
    let description: String
  }

  let settings: Settings

  /// The number of replays of a scenario: the threads interleave differently each time.
  private static let repetitions = 200

  private(set) var operations = 0
  private(set) var scenarios = 0
  private(set) var failures: [Failure] = []

  init(_ settings: Settings) { self.settings = settings }

  /// Blocks until all operations have been executed, or a scenario has failed.
  mutating func run() {
    if let seed = settings.seed { return replay(seed) }
    let first = UInt64.random(in: .min ... .max)
    if settings.printsSeed {
      print("search: seed \(text(first)), \(settings.operations) operations")
    }
    var seeds = SeededGenerator(seed: first)
    while operations < settings.operations, settings.isCensus || failures.isEmpty {
      attempt(ScenarioGenerator.scenario(seed: seeds.next()))
    }
  }

  private mutating func replay(_ seed: UInt64) {
    let scenario = ScenarioGenerator.scenario(seed: seed)
    print("\(scenario)")
    for _ in 0..<Self.repetitions where failures.isEmpty { attempt(scenario) }
  }

  private mutating func attempt(_ scenario: Scenario) {
    scenarios += 1
    operations += scenario.size
    let verdict = Performance.verdict(on: scenario, patience: settings.patience)
    let violation = verdict.violations.first {
      settings.kind == nil || settings.kind == "\($0.kind)"
    }
    guard let violation else { return }
    let seed = text(scenario.seed)
    var lines = [
      "seed \(seed) scenario \(scenarios)",
      "replay it with: SERIALQ_SEED=\(seed) swift test --filter SearchTests",
    ]
    lines += verdict.violations.map { "  \($0.kind.rawValue): \($0.text)" }
    if !settings.isCensus {
      let small = Shrinker(violation.kind, settings.patience).shrunk(scenario)
      lines.append("of all operations: \(scenario)")
      lines.append("in \(small.size) of \(scenario.size) operations:")
      lines.append("\(small)")
      lines.append("latest events: \(scenario.describe(verdict.events.suffix(60)))")
    }
    failures.append(
      Failure(
        seed: scenario.seed, violations: verdict.violations,
        description: lines.joined(separator: "\n")))
  }

  private func text(_ seed: UInt64) -> String { "0x" + String(seed, radix: 16) }

  /// The number of scenarios for each kind of violation, with examples.
  var census: String {
    let kinds = Violation.Kind.allCases.compactMap { kind -> String? in
      let examples = failures.compactMap { failure in
        failure.violations.first { $0.kind == kind }.map { (failure, $0) }
      }
      guard !examples.isEmpty else { return nil }
      let lines = examples.prefix(8).map { "    \(text($0.0.seed)): \($0.1.text)" }
      return "  \(examples.count) × \(kind.rawValue)\n" + lines.joined(separator: "\n")
    }
    return """
      \(failures.count) of \(scenarios) scenarios, \(operations) operations
      \(kinds.joined(separator: "\n"))
      """
  }
}
