extension SerialOrder {
  /// The phase of the step at the head of the queue.
  ///
  /// From the addition of a step to the next one:
  ///
  /// 1. `add` appends the step to the line. If the order rests, the caller gets the *claim*, the
  ///    right to start the next step, which one thread has at a time.
  /// 2. The holder calls `next`, which begins the first step and returns its handler, or says why
  ///    not.
  /// 3. The holder calls the handler, and then `handlerReturned`. If `then` was called, the step
  ///    ends, and the holder continues with 2. Otherwise it leaves, and who calls `then` ends the
  ///    step, and is the holder.
  ///
  /// `PromiseManager.drain` is the loop of a holder.
  enum Phase {
    /// No step runs, and no thread holds the claim. → claimed, running
    case resting
    /// A thread holds the claim: it is going to call `next`. → running, onItsWay, throttled,
    /// resting
    case claimed
    /// Steps wait, and the claim is sent to where the first one has to run, which may be busy.
    /// → claimed, resting
    ///
    /// The thread that arrives has the claim only if the trip is still the current one: the claim
    /// is taken back when the first step no longer has to run there. Otherwise a step that was
    /// canceled or overtaken would hold up the others.
    case onItsWay(Trip)
    /// Steps wait, but the rate does not allow one to start; a timer will claim. → claimed, resting
    case throttled(Wait)
    /// A step has started, and its handler or its `then` is awaited. → claimed, resting
    case running(Running)
  }

  /// A trip of the claim.
  struct Trip {
    /// The actor where it ends, which the closure that is sent there retains; nil for the queue of
    /// handlers.
    let actor: ObjectIdentifier?
    let ticket: Int
  }

  /// A wait until the rate allows a step, whose timer the throttle has.
  struct Wait {
    let duration: Duration
    let ticket: Int
  }

  /// The step that runs: until its handler has returned and its `then` was called.
  ///
  /// | | `then` awaited | `then` called |
  /// |---|---|---|
  /// | handler on the stack | from the start | → ends when the handler returns |
  /// | handler returned | → ends with `then` | only while its cancel handlers run after a timeout |
  ///
  /// Without references, because a phase is copied and replaced for each step.
  struct Running {
    /// The thread that has the handler on its stack; nil after it has returned, and for code in a
    /// task.
    var thread: ThreadIdentity?

    /// Whether `then` was called, or counts as called, and did not end the step.
    var isThenCalled = false

    /// Whether only the step's own code ends it: no cancellation and no time limit.
    let endsItself: Bool
  }

  /// The requests, limits and progress of the running step.
  ///
  /// An object, made when the first of them is needed and released with the step. Accessed only
  /// under the lock.
  final class Supervision {
    var isCancelRequested = false

    private var cancelHandlers: [@Sendable () -> Void] = []

    var limit = Limit.ahead

    /// Whether the step ends without its `then` when it has timed out.
    var isAbandoned = false

    /// Whether the grace period has passed: the step ends when its handler returns, unless `then`
    /// was called.
    var isGraceOver = false

    var timers: [Timer] = []

    var progress = Progress()

    /// The record of a step that has timed out and still runs, whose slot has lost it.
    var timedOut: StepRecord?

    /// The error with which `then` was called, if that did not end the step.
    var thenError: (any Error)?

    /// Where the time limit is.
    enum Limit {
      /// There is none, or it has not passed.
      case ahead
      /// The cancel handlers run; then the step fails with this error.
      ///
      /// Not before, because an observer may rely on the work being canceled. Meanwhile a call of
      /// `then` does not end the step.
      case passing(any Error)
      /// The step has its outcome, and still runs.
      case passed
    }

    /// Registers a handler for the cancellation.
    ///
    /// - Returns: Whether the step is already canceled; the caller then calls the handler.
    func onCancel(_ handler: @escaping @Sendable () -> Void) -> Bool {
      if !isCancelRequested { cancelHandlers.append(handler) }
      return isCancelRequested
    }

    /// - Returns: The handlers to call.
    func requestCancel() -> [@Sendable () -> Void] {
      isCancelRequested = true
      defer { cancelHandlers = [] }
      return cancelHandlers
    }

    var isTimingOut: Bool { if case .passing = limit { true } else { false } }
    var hasTimedOut: Bool { if case .passed = limit { true } else { false } }
  }
}
