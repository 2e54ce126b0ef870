/// What a manager does with the steps that wait when one fails.
///
/// ```swift
/// let deploy = PromiseManager(onFailure: .stop)  // keeps the waiting steps until `resume`
/// let backup = PromiseManager(onFailure: .continue)  // runs the waiting steps; the default
/// let draft = PromiseManager(onFailure: .cancelRest)  // cancels the waiting steps
/// ```
public enum FailurePolicy: Sendable {
  /// Goes on with the next step.
  case `continue`

  /// Pauses, and keeps the rest; the error is the manager's ``PromiseManager/failure`` until it
  /// is resumed.
  case stop

  /// Cancels the steps that wait; steps that are added afterwards run.
  case cancelRest
}
