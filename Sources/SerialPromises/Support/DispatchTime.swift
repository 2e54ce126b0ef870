import Dispatch

extension DispatchTime {
  /// Returns the time after a duration from now, or `distantFuture` if Dispatch cannot represent
  /// it.
  static func after(_ duration: Duration) -> DispatchTime {
    let (seconds, attoseconds) = duration.components
    guard seconds < 1_000_000_000 else { return .distantFuture }
    // Not as one number: an `Int` of a watch has 32 bits.
    return .now() + .seconds(Int(max(0, seconds)))
      + .nanoseconds(Int(attoseconds / 1_000_000_000))
  }
}
