/// How a step ended.
///
/// ```swift
/// switch await handle.outcome {
/// case .succeeded: show("done")
/// case .failed(let error): show("failed: \(error)")
/// case .cancelled: show("cancelled")
/// }
/// ```
public enum StepOutcome: Sendable {
  /// `then` was called without an error, perhaps although the step was canceled.
  case succeeded

  /// `then` was called with an error or dropped, or the step was refused or timed out.
  case failed(any Error)

  /// The step was canceled while it waited, or it was canceled after it started, and then ended
  /// with an error, whatever it is, or by its grace period.
  case cancelled

  /// Throws if the step did not succeed.
  ///
  /// ```swift
  /// try await handle.outcome.get()
  /// ```
  ///
  /// - Throws: The step's error, or `CancellationError`.
  public func get() throws {
    switch self {
    case .succeeded: break
    case .failed(let error): throw error
    case .cancelled: throw CancellationError()
    }
  }
}
