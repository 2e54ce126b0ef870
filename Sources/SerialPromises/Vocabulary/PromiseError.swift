/// Why a step or a promise did not end by itself, or why a request could not be met.
///
/// ```swift
/// do {
///   _ = try await manager.run { try await load(url) }
/// } catch PromiseError.closed {
///   show("closed: nothing was loaded")
/// } catch PromiseError.full(let capacity) {
///   show("\(capacity) steps wait already")
/// }
/// ```
public enum PromiseError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The last reference to the step's `then` went away and nobody had called it.
  case abandoned(StepIdentity)

  /// Everything that could have settled the promise went away.
  case abandonedPromise(PromiseIdentity)

  /// A promise was resolved with itself (Promises/A+ 2.3.1), or with one that waits for it.
  ///
  /// Such as a handler that returns the promise that it settles, or a combination of that promise, or
  /// two promises that are resolved with one another.
  case resolvedWithItself(PromiseIdentity)

  /// There was no promise in what should have been combined.
  case noPromises

  /// The manager has as many waiting steps as its capacity allows.
  case full(capacity: Int)

  /// The manager has been closed and takes no further steps.
  case closed

  /// A step waits for something that can happen only after the step has ended.
  case deadlock(StepIdentity)

  /// What was waited for did not happen within the time given.
  case timedOut(Duration)

  /// What happened, why, and what to do about it.
  public var description: String {
    switch self {
    case .abandoned(let step):
      "\(step) dropped its `then` without calling it; call `then` on every path, errors included"
    case .abandonedPromise(let promise):
      "nothing is left that could settle \(promise); fulfill or fail it on every path"
    case .resolvedWithItself(let promise):
      """
      \(promise) was resolved with itself, or with a promise that depends on it, and could never be \
      settled; resolve it with a promise that does not depend on it
      """
    case .noPromises:
      "there was no promise to choose from; pass at least one"
    case .full(let capacity):
      "the manager is full: \(capacity) steps wait; add later, or await `addWhenRoom`"
    case .closed:
      "the manager is closed and accepts no steps; add steps before `close()`"
    case .deadlock(let step):
      """
      \(step) waits for its own manager, which waits for that step to end; \
      wait after the step, or in a detached task that the step does not await
      """
    case .timedOut(let duration):
      "not done within \(duration); the work may still be running"
    }
  }
}
