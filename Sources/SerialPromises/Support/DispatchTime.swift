import Dispatch

extension DispatchTime {
  /// The time after a duration from now; what is longer than Dispatch can count is for ever.
  static func after(_ duration: Duration) -> DispatchTime {
    let (seconds, attoseconds) = duration.components
    guard seconds < 1_000_000_000 else { return .distantFuture }
    let nanoseconds = Int(max(0, seconds)) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
    return .now() + .nanoseconds(nanoseconds)
  }
}
