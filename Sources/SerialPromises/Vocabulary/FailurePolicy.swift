/// What a manager does with the waiting steps after a step fails.
///
/// ```swift
/// // Keeps the waiting steps until `resume`.
/// let deploy = PromiseManager(onFailure: .stop)
/// // Runs the waiting steps. The default.
/// let backup = PromiseManager(onFailure: .continue)
/// // Cancels the waiting steps.
/// let draft = PromiseManager(onFailure: .cancelRest)
/// ```
public enum FailurePolicy: Sendable {
  /// Continues with the next step. The default.
  case `continue`

  /// Pauses the queue and keeps the waiting steps. ``PromiseManager/failure`` holds the error until
  /// the queue is resumed.
  case stop

  /// Cancels the waiting steps. Steps added later run.
  case cancelRest
}
