import Dispatch

extension DispatchTime {
  /// Returns the time after a duration from now, or `distantFuture` if Dispatch cannot represent
  /// it.
  static func after(_ duration: Duration) -> DispatchTime {
    let (seconds, attoseconds) = duration.components
    guard seconds < 1_000_000_000 else { return .distantFuture }
    let nanoseconds = Int(max(0, seconds)) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
    return .now() + .nanoseconds(nanoseconds)
  }
}
