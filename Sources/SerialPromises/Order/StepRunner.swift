/// Runs the steps of an order; implemented by the manager.
///
/// The thread that holds the claim calls one of the two methods.
protocol StepRunner: AnyObject, Sendable {
  /// Whether `continueTurn` runs handlers before it returns.
  var runsOnThisThread: Bool { get }

  /// Runs the next steps after a step has ended, on this thread or on the queue for handlers.
  func continueTurn()

  /// As `continueTurn`, on another thread.
  func continueElsewhere()
}
