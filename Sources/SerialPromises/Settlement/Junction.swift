/// How a promise depends on several others.
///
/// Retained by the promise until that is settled.
protocol Junction: AnyObject {
  /// The inputs that are known from the beginning, in order.
  var sources: [Core] { get }

  /// Whether the promise waits for each of the pending inputs.
  var waitsForAll: Bool { get }

  /// Calls `body` for each input that may be pending.
  func forEachSource(_ body: (Core, JunctionInput) -> Void)

  /// Reacts to the settlement of an input of `result`.
  func settled(_ index: Int, _ source: Core, of result: Core, _ agenda: inout Agenda)

  /// Records that one of the inputs will never be settled.
  ///
  /// - Returns: Whether the promise cannot be settled either.
  func sourceIsLost() -> Bool

  /// The progress of the inputs.
  ///
  /// - Parameter fraction: Returns the progress of an input.
  /// - Returns: A fraction from 0 to 1.
  func progress(_ fraction: (Core) -> Double) -> Double

  /// Starts to record the progress of the inputs.
  ///
  /// - Returns: Their progress.
  func watch() -> Double

  /// Records the progress of an input.
  ///
  /// - Returns: The progress of the inputs, if it is recorded.
  func advance(_ index: Int, to fraction: Double) -> Double?

  /// Creates the same promise of other inputs; nil if it cannot be repeated.
  var recipe: Restart.Make? { get }
}

extension Junction {
  /// Withdraws from all inputs without canceling them.
  ///
  /// Otherwise an input that never settles would accumulate every combination it was part of.
  func withdraw() {
    forEachSource { _ = $0.withdraw($1, cancelling: false) }
  }
}

/// The reaction of a promise with several inputs to one of them.
final class JunctionInput: Reaction {
  private let result: Core
  let index: Int
  private let runsUserCode: Bool

  init(of result: Core, _ index: Int, runsUserCode: Bool = false) {
    self.result = result
    self.index = index
    self.runsUserCode = runsUserCode
  }

  override var isImmediate: Bool { !runsUserCode }
  override var target: Core? { result }

  override func react(to source: Core, _ agenda: inout Agenda) {
    // Nil if the promise was settled or canceled.
    guard case .many(let junction) = result.sources else { return }
    junction.settled(index, source, of: result, &agenda)
  }
}
