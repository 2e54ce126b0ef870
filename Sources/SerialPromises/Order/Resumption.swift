/// A further handler of a running step, to run when none of its handlers is on the stack.
///
/// A handler that a step schedules, for instance after a delay, delays the next step until it
/// returns, as the first handler does. It does not run if the step has ended.
final class Resumption: Sendable {
  let handler: Work.Handler

  /// The `then` of the step.
  let then: Then

  /// Called instead of the handler if the step has ended.
  let drop: @Sendable () -> Void

  init(
    _ handler: @escaping Work.Handler, _ then: Then,
    orElse drop: @escaping @Sendable () -> Void
  ) {
    self.handler = handler
    self.then = then
    self.drop = drop
  }
}
