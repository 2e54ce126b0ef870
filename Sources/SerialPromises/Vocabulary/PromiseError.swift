/// An error that the library itself reports.
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
  /// The last copy of the step's `then` was released without a call.
  case abandoned(StepIdentity)

  /// Everything that could settle the promise was released.
  case abandonedPromise(PromiseIdentity)

  /// A promise was resolved with itself (Promises/A+ 2.3.1), or with a promise that depends on it.
  ///
  /// Examples are a handler that returns the promise that it settles, a combination of that
  /// promise, and two promises that are resolved with each other.
  case resolvedWithItself(PromiseIdentity)

  /// A combination received no promises.
  case noPromises

  /// The number of waiting steps has reached the manager's capacity.
  case full(capacity: Int)

  /// The manager is closed and accepts no steps.
  case closed

  /// A step waits for something that can happen only after the step has ended.
  case deadlock(StepIdentity)

  /// The operation did not finish within the given time.
  case timedOut(Duration)

  /// What happened, why, and how to fix it.
  public var description: String {
    switch self {
    case .abandoned(let step):
      "\(step) dropped its `then` without calling it; call `then` on every path, errors included"
    case .abandonedPromise(let promise):
      "nothing is left that could settle \(promise); fulfill or fail it on every path"
    case .resolvedWithItself(let promise):
      "\(promise) was resolved with itself, or with a promise that depends on it, and could never "
        + "be settled; resolve it with a promise that does not depend on it"
    case .noPromises:
      "there was no promise to choose from; pass at least one"
    case .full(let capacity):
      "the manager is full: \(capacity) steps wait; add later, or await `addWhenRoom`"
    case .closed:
      "the manager is closed and accepts no steps; add steps before `close()`"
    case .deadlock(let step):
      "\(step) waits for its own manager, which waits for that step to end; wait after the step, "
        + "or in a detached task that the step does not await"
    case .timedOut(let duration):
      "not done within \(duration); the work may still be running"
    }
  }
}
