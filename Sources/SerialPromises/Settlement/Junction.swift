/// The inputs of a combination, until it is settled.
class Junction {
  /// The inputs, in order.
  let sources: [Core]

  init(_ sources: [Core]) {
    self.sources = sources
  }

  /// Calls `body` for each pending input.
  func forEachSource(_ body: (Core, Reaction) -> Void) {}

  /// Withdraws from all inputs without canceling them.
  ///
  /// Otherwise an input that never settles would accumulate every combination it was part of.
  final func withdraw() {
    forEachSource { _ = $0.withdraw($1, cancelling: false) }
  }

  /// The combined progress.
  ///
  /// - Parameter fraction: Returns the progress of an input.
  /// - Returns: A fraction from 0 to 1.
  func progress(_ fraction: (Core) -> Double) -> Double { 0 }

  /// Starts to record the progress of the inputs.
  ///
  /// - Returns: The combined progress.
  func watch() -> Double { 0 }

  /// Creates the same combination of other promises; nil if it cannot be repeated.
  var recipe: Restart.Make? { nil }
}
