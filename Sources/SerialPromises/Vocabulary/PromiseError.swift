/// An error of the library itself, not of the work that it runs.
///
/// The errors of your own work reach you unchanged. A `PromiseError` concerns the queue or the
/// promise. It is thrown by calls that wait, such as
/// ``PromiseManager/withTurn(_:at:waitingAtMost:_:)``,
/// ``PromiseManager/run(_:at:waitingAtMost:_:)`` and ``Promise/value``, is the error in the
/// ``StepHandle/outcome`` of a step, and is the failure of a promise.
///
/// Handle the four cases that a correct program can meet. After ``closed``, add no further steps.
/// After ``full(capacity:)``, add the step later, or use ``PromiseManager/addWhenRoom(_:_:)``.
/// After ``timedOut(_:)``, give up or try again; the work itself may still be running. After
/// ``stillWaiting(_:for:)``, do the same; the work has not begun.
///
/// The other cases are mistakes in the program. Their ``description`` says what is wrong and how to
/// fix it: print the error, and correct the code.
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
  ///
  /// Debug builds also report it in a `Task` that a step's handler starts, until `then` is called,
  /// even if the step does not wait for the task; see <doc:LifeOfAStep#Deadlocks>.
  case deadlock(StepIdentity)

  /// The operation did not finish within the given time.
  case timedOut(Duration)

  /// The turn had not begun when the time to wait for it was over:
  /// ``PromiseManager/withTurn(_:at:waitingAtMost:_:)`` or
  /// ``PromiseManager/run(_:at:waitingAtMost:_:)`` gave up.
  ///
  /// With the step that ran then, perhaps one whose actor is busy, or that has timed out; nil if
  /// none did, for instance because the manager was paused or waited for its rate.
  case stillWaiting(Duration, for: StepIdentity?)

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
      "\(step) waits for its own manager, which waits for it; inside a turn, call code that takes "
        + "none; or wait after the step, or in a `Task.detached` that the step does not await"
    case .timedOut(let duration):
      "not done within \(duration); the work may still be running, or have ended since"
    case .stillWaiting(let duration, let step):
      "gave up after waiting \(duration) for a turn, while \(step.map { "\($0) ran" } ?? "no step ran"); the "
        + "work has not begun; try again, or wait longer"
    }
  }
}
