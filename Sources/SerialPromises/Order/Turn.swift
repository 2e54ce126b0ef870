extension SerialOrder {
  /// The next action of the thread that holds the claim.
  struct Turn {
    enum Move: Equatable {
      /// Runs the handler, and then calls `handlerReturned`.
      case run
      /// Resumes `waiter`, if there is one yet. The claim has been released: the step is code in a
      /// task.
      case grant
      /// Calls `next` again, and releases `object` without the lock.
      case again
      /// Calls `next` again with the current time.
      case readTime
      /// Stops, because the next handler may not run here. The claim is on its way to the actor of
      /// the record `object`, or else to the queue of handlers, where a thread calls `arrive`.
      case depart(ticket: Int)
      /// Stops. The claim has been released.
      case leave
    }

    var move = Move.leave
    var work: Work?
    var waiter: UnsafeContinuation<Bool, Never>?
    var id = 0

    /// An object to release after the lock is released.
    ///
    /// May be the last reference to a manager or to the error of a step.
    var object: AnyObject?

    /// The actor to go to.
    var isolation: (any Actor)? { (object as? StepRecord)?.isolation }
  }

  /// The handlers that the claim's holder may run.
  enum Reach {
    /// None: it only resumes code in a task.
    case none
    /// All of steps that belong to no actor.
    case all
    /// As `all`, but the holder is inside a call of `then`. Handlers of an actor begin outside it,
    /// because the caller, on the same actor, may then change what they have set: `then?(); then =
    /// nil`.
    case insideThen
    /// The handler of this step, if it is next, and belongs to no actor.
    case only(Int)
    /// The handler of this step, if it is next: the holder is on its actor.
    case onActor(of: Int)

    /// Whether the handler of step `id` may run.
    func includes(_ id: Int, isOfActor: Bool) -> Bool {
      switch self {
      case .none: false
      case .all, .insideThen: !isOfActor
      case .only(let only): only == id && !isOfActor
      case .onActor(let only): only == id
      }
    }
  }

  enum Admission {
    /// The step was added. Its handles hold the record. If `claims` is true, the caller must call
    /// `next`.
    case entered(StepRecord, id: Int, claims: Bool)
    case refused(PromiseError)
  }

  enum ThenResult {
    /// Another thread holds the claim, or will hold it when the handler returns.
    case counted
    /// The step has ended, and the caller of `then` holds the claim on behalf of the manager.
    case claimed((any StepRunner)?)
    /// The step had already ended.
    case late
  }

  /// The state of `then` when its handler returns.
  enum Continuation {
    case called
    /// The last reference was released.
    case dropped
    case awaited
  }
}
