/// A further handler of a step that has begun, for when none of it is on the stack.
///
/// What a step does later than its handler was called, after a delay for instance, is its handler as
/// much: it holds up the next step until it has returned, and is not to begin once the step is over.
final class Resumption: Sendable {
  let handler: Work.Handler

  /// The one that the step has had all the time.
  let then: Then

  /// Called instead of the handler when the step is over before.
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
