/// What a manager does with the waiting steps after a step fails.
///
/// ```swift
/// let deploy = PromiseManager(onFailure: .stop)  // keeps the waiting steps until `resume`
/// let backup = PromiseManager(onFailure: .continue)  // runs the waiting steps; the default
/// let draft = PromiseManager(onFailure: .cancelRest)  // cancels the waiting steps
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
