/// A change in a manager or one of its steps.
///
/// Each step that was added ends with one ``finished(_:_:duration:)``, whether it has started or
/// not.
///
/// ```swift
/// listening: for await event in events {
///   switch event {
///   case .added(let step): show("\(step) waits")
///   case .started(let step): show("\(step) runs")
///   case .finished(let step, let outcome, _): show("\(step) \(outcome)")
///   case .idle: break listening
///   }
/// }
/// ```
public enum StepEvent: Sendable {
  /// A step was added to the queue.
  case added(StepIdentity)
  /// A step's handler is about to be called.
  case started(StepIdentity)
  /// A step ended: a running one, or one that was canceled while it waited, and will not run. The
  /// duration is nil if the step has not started, or there was no listener when it did.
  case finished(StepIdentity, StepOutcome, duration: Duration?)
  /// No step runs or waits.
  case idle
}
