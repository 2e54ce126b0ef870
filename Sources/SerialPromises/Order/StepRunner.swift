/// What runs the steps of an order: a manager.
///
/// The thread that holds the claim calls one of the two methods.
protocol StepRunner: AnyObject, Sendable {
  /// Whether `continueTurn` runs handlers before it returns.
  var runsOnThisThread: Bool { get }

  /// The step before is over: runs what can run, here or on the queue for handlers.
  func continueTurn()

  /// As `continueTurn`, but not on this thread.
  func continueElsewhere()
}
