import Dispatch

/// How far something has come: from 0 to 1, and never back.
struct Progress {
  /// What counts as no difference at all: the smallest step of a `Float` at 1.
  static let step = Double(Float.ulpOfOne)

  private(set) var fraction = 0.0

  enum Change: Equatable {
    case risen(to: Double)
    case unchanged
    /// A fall, or a value that is no fraction.
    case refused
  }

  /// Moves to a fraction that somebody reported.
  mutating func report(_ reported: Double) -> Change {
    // The comparisons are false for what is not a number.
    guard reported >= fraction - Self.step, reported <= 1 + Self.step else { return .refused }
    return rise(to: reported)
  }

  /// Moves to a computed fraction, if that is further.
  mutating func rise(to computed: Double) -> Change {
    // The last step counts, however small: whoever is done is at 1.
    guard computed - fraction > Self.step || computed >= 1 && fraction < 1 else {
      return .unchanged
    }
    fraction = min(1, computed)
    return .risen(to: fraction)
  }
}
