/// A fraction from 0 to 1 that never decreases.
struct Progress {
  /// The smallest difference that counts as a change: the `Float` spacing at 1.
  static let step = Double(Float.ulpOfOne)

  private(set) var fraction = 0.0

  enum Change: Equatable {
    case risen(to: Double)
    case unchanged
    /// The reported value is smaller than the current one, or not a fraction.
    case refused
  }

  /// Moves to a reported fraction.
  mutating func report(_ reported: Double) -> Change {
    // Both comparisons are false for NaN.
    guard reported >= fraction - Self.step, reported <= 1 + Self.step else { return .refused }
    return rise(to: reported)
  }

  /// Moves to a computed fraction if it is larger.
  mutating func rise(to computed: Double) -> Change {
    // Accepts a final step of any size: complete work has fraction 1.
    guard computed - fraction > Self.step || computed >= 1 && fraction < 1 else {
      return .unchanged
    }
    fraction = min(1, computed)
    return .risen(to: fraction)
  }
}
