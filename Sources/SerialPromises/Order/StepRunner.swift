/// Runs the steps of an order; implemented by the manager.
///
/// The thread that holds the claim calls one of the methods.
protocol StepRunner: AnyObject, Sendable {
  /// Whether `continueTurn` runs handlers before it returns.
  var runsOnThisThread: Bool { get }

  /// Runs the next steps after a step has ended, on this thread or on the queue for handlers.
  func continueTurn()

  /// Runs the steps of a turn that has begun on this thread.
  ///
  /// - Parameters:
  ///   - turn: The first move of the turn.
  ///   - token: A token without another reference, for the step of this move; nil if there is none.
  ///   - reach: The handlers that may run here.
  func continueTurn(
    _ turn: inout SerialOrder.Turn, _ token: inout Token?, _ reach: SerialOrder.Reach)

  /// As `continueTurn`, but runs no handler before it returns.
  func continueElsewhere()
}
