/// A change in a manager or one of its steps.
///
/// ```swift
/// for await event in events {
///   switch event {
///   case .added(let step): show("\(step) waits")
///   case .started(let step): show("\(step) runs")
///   case .finished(let step, let outcome, _): show("\(step) \(outcome)")
///   case .cancelled(let step): show("\(step) will not run")
///   case .idle: return
///   }
/// }
/// ```
public enum StepEvent: Sendable {
  /// A step was added to the queue.
  case added(StepIdentity)
  /// A step's handler is about to be called.
  case started(StepIdentity)
  /// A running step ended. The duration is nil if there was no listener when the step started.
  case finished(StepIdentity, StepOutcome, duration: Duration?)
  /// A waiting step was canceled and will not run.
  case cancelled(StepIdentity)
  /// No step runs or waits.
  case idle
}
