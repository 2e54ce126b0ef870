import Foundation
import TestSupport

/// Tries scenarios one after another, makes a failing one smaller, and says how to replay it.
struct Search {
  /// How much is tried, and for how long something is waited for; said by the environment.
  struct Settings: Sendable {
    var seed: UInt64?
    var operations: Int
    var patience: Duration
    /// Whether to go on after a failure, and count the kinds.
    var isCensus: Bool

    static let current: Settings = {
      let environment = ProcessInfo.processInfo.environment
      let operations = environment["SERIALQ_SEARCH"].flatMap { Int($0) }
      let patience = environment["SERIALQ_PATIENCE"].flatMap { Double($0) }
      return Settings(
        seed: environment["SERIALQ_SEED"].flatMap(number),
        operations: operations ?? (isLong ? 1_000_000 : 20_000 / ease),
        patience: .seconds(patience ?? 60), isCensus: environment["SERIALQ_CENSUS"] == "1")
    }()

    private static func number(_ text: String) -> UInt64? {
      text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : UInt64(text)
    }
  }

  /// A scenario in which something went wrong.
  struct Failure: Sendable {
    let seed: UInt64
    let number: Int
    let violations: [Violation]
    let text: String
  }

  let settings: Settings

  /// How often a scenario is repeated that is to be replayed: the threads interleave differently.
  private static let repetitions = 200

  private(set) var operations = 0
  private(set) var scenarios = 0
  private(set) var failures: [Failure] = []

  init(_ settings: Settings) { self.settings = settings }

  /// Blocks until as much has been tried as the settings say, or something has failed.
  mutating func run() {
    if let seed = settings.seed { return replay(seed) }
    let first = UInt64.random(in: .min ... .max)
    print("search: seed \(text(first)), \(settings.operations) operations")
    var seeds = SeededGenerator(seed: first)
    while operations < settings.operations, settings.isCensus || failures.isEmpty {
      attempt(ScenarioGenerator.scenario(seed: seeds.next()))
    }
  }

  private mutating func replay(_ seed: UInt64) {
    let scenario = ScenarioGenerator.scenario(seed: seed)
    for _ in 0..<Self.repetitions where failures.isEmpty { attempt(scenario) }
  }

  private mutating func attempt(_ scenario: Scenario) {
    scenarios += 1
    operations += scenario.size
    let verdict = Performance.verdict(on: scenario, patience: settings.patience)
    guard let violation = verdict.violations.first else { return }
    var lines = ["seed \(text(scenario.seed)) scenario \(scenarios)"]
    lines += verdict.violations.map { "  \($0.kind.rawValue): \($0.text)" }
    if !settings.isCensus {
      let small = Shrinker(violation.kind, settings.patience).shrunk(scenario)
      lines.append("in \(small.size) of \(scenario.size) operations:")
      lines.append("\(small)")
      lines.append("latest events: \(scenario.describe(verdict.events.suffix(60)))")
    }
    failures.append(
      Failure(
        seed: scenario.seed, number: scenarios, violations: verdict.violations,
        text: lines.joined(separator: "\n")))
  }

  private func text(_ seed: UInt64) -> String { "0x" + String(seed, radix: 16) }

  /// How many scenarios violated what, with an example of each.
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
