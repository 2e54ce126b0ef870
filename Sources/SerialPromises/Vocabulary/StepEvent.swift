/// What happens in a manager.
///
/// ```swift
/// for await event in events {
///   switch event {
///   case .added(let step): show("\(step) waits")
///   case .started(let step): show("\(step) runs")
///   case .finished(let step, _, let duration): show("\(step) took \(duration ?? .zero)")
///   case .cancelled(let step): show("\(step) will not run")
///   case .idle: return
///   }
/// }
/// ```
public enum StepEvent: Sendable {
  /// A step entered the queue.
  case added(StepIdentity)
  /// A step's handler is about to be called.
  case started(StepIdentity)
  /// A step that had started is over. The duration is nil if nobody listened when it started.
  case finished(StepIdentity, StepOutcome, duration: Duration?)
  /// A step that waited was cancelled and will not run.
  case cancelled(StepIdentity)
  /// Nothing runs and nothing waits any more.
  case idle
}
