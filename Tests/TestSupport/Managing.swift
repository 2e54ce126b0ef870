/// The guarantees of `PromiseManager`.
package enum Managing: String, Guarantee {
  package static let subject = "The manager"

  case anyTypeIsAStep = "Any type with a handler can be a step; a promise is a step"
  case order = "Steps run in the order of addition, as each adding thread observes it"
  case addedInside = "A step added by a handler runs after all waiting steps"
  case neverTwo = "A step's handler starts only after the preceding step has ended"
  case turns = "A promise that waits in a manager begins in its turn, regardless of demand"
  case workEnds = "A promise's step ends when the work of the promise has ended"
  case cancelledPromise =
    "A promise canceled while it waits never begins, notifies its listeners, and is not a failure"
  case callersTurn =
    "A turn of withTurn runs in the caller's task, on its actor, and is not entered twice"
  case callersContext = "Turns, run and enqueue have the caller's task-local values and priority"
  case keys = "A key has one manager while it is in use, and leaves nothing behind"
  case visibility = "A step's writes are visible to the next step"
  case thenOnce = "The first call of then takes effect; a second call is reported and ignored"
  case thenFails = "Calling then with an error fails the step"
  case droppedThen = "A then released without a call fails its step, and the queue continues"
  case stack = "A million steps need 512 KB of stack to run, cancel or release"
  case thread = "A handler runs on the thread that made its step runnable"
  case onQueue = "With on:, handlers run on the given queue or on the main actor"
  case drain = "No thread is held for long: a turn ends after a few milliseconds"
  case context = "A handler sees no task of another step, and does not block the cooperative pool"
  case noLock = "No user code runs under the lock"
  case policies =
    "After a failure the queue continues, stops, or cancels the rest, depending on its policy"
  case handles = "A handle has the id, name, state and outcome of its step"
  case cancelWaiting = "A waiting step that is canceled never runs"
  case cancelRunning = "A running step that is canceled is notified, and ends when it calls then"
  case grace = "A grace period, if set, ends a canceled or timed-out step that does not call then"
  case cancelAll = "cancelAll does not affect steps added afterwards"
  case pause = "pause lets the running step end and starts no other"
  case idle = "idle returns when no step runs or waits; waitUntilIdle has a timeout"
  case deadlock =
    "A step's work that waits for its manager gets an error; a closure's tasks, in debug builds"
  case timeout =
    "A step that exceeds its time limit is canceled, then fails; the next step waits for its then"
  case lateThen = "With abandoning, the queue continues after a time limit; a late then is reported"
  case unhandled = "A step's failure that nothing receives is reported once"
  case events = "A listener receives the events of every step, in order, in a bounded buffer"
  case silence = "Events have no cost without a listener"
  case capacity = "A full manager refuses a step, or suspends the caller that adds it"
  case life = "A manager lives as long as it has steps to run, and leaks nothing"
  case close = "A closed manager refuses new steps and runs the ones it has"
  case imports = "The library imports Dispatch and the standard library, not Foundation"
  case storms = "Random operations in any order give the results of a naive model"
}
