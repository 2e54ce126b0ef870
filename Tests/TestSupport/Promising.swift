/// The guarantees of `Promise`.
package enum Promising: String, Guarantee {
  package static let subject = "The promise"

  case settledOnce = "A promise is settled once, however many threads try at the same time"
  case lateAttempts =
    "Late attempts are reported; tryFulfill and tryFail return whether they settled the promise"
  case cold = "A cold promise starts on demand, and only once"
  case coldChains =
    "A chain on a cold promise is cold, and starts when its last promise is demanded"
  case hot = "A hot promise starts its work when it is created"
  case deferred = "A deferred settles its promise, and fails it when released unsettled"
  case states = "Promises/A+ 2.1, states"
  case then = "Promises/A+ 2.2, then: called once, asynchronously, in order, with the value"
  case resolution = "Promises/A+ 2.3, resolution: adopts a returned promise, at any depth"
  case asyncHandlers = "Handlers may be asynchronous"
  case whereHandlersRun = "on: selects a queue; main-actor closures run on the main actor"
  case chainWords = "map, catch, recover, finally and tap behave as documented"
  case callbacks = "Callbacks return the promise they are attached to"
  case time = "delay and timeout use an injected clock; a timeout first cancels its source"
  case retry = "retry restarts the whole cold chain; what cannot be repeated is attempted once"
  case typedErrors = "An operation with few failure reasons throws a typed error"
  case awaiting = "A value can be awaited; canceling the awaiting task is defined"
  case wait = "wait blocks, and traps where it could only deadlock"
  case unhandled =
    "An unhandled failure is reported once, with the name or location of the promise"
  case redirected = "Diagnostics can be redirected or turned off"
  case losers = "Failures of a race's losers are not reported as unhandled"
  case when =
    "when accepts arrays, dictionaries and tuples, and identifies the promise that failed"
  case concurrently = "when(concurrently:) has no more than its limit of promises in flight"
  case collect = "when(resolved:) never fails"
  case any = "any takes the first value, or fails with all errors"
  case race = "race settles as the first promise that settles; settled promises decide first"
  case chain = "chain passes a value through its steps"
  case join = "then { $0 } flattens one level"
  case relay = "relay forwards value, error and progress"
  case serially = "serially runs cold promises on a manager, one at a time"
  case empty = "Every combinator defines its result for no promises"
  case stack = "Chains, resolutions and combinations of any length need 512 KB of stack"
  case cancellable = "Only a promise with a cancel handler can be canceled; handlers run in order"
  case derived = "Canceling a derived promise cancels a source without other dependents"
  case settledStays = "Canceling a settled promise has no effect"
  case noLeaks =
    "Settled, canceled and never started promises leak nothing; nor do the rounds of a loop"
}
