/// The eventual result of an operation.
///
/// A promise is pending, and then settled: fulfilled with a value, or failed with an error. A
/// settled promise never changes.
///
/// ```swift
/// let greeting = Promise<String> { resolve, reject in
///   fetchName { name, error in
///     if let name { resolve(name) } else { reject(error ?? NoName()) }
///   }
/// }
/// let line = greeting.map { name in "Hello, \(name)" }
/// print(try await line.value)
/// ```
///
/// **Cold and hot.** A promise made from a closure, as above, is *cold*: it does nothing until it
/// is demanded by ``start()``, by awaiting its ``value``, by ``wait(timeout:)``, by the turn of its
/// step in a ``PromiseManager``, or by a demand for a promise derived from it. The closure runs
/// once, however often it is demanded. If it is never demanded, waiting handlers never run, which
/// is reported as ``Diagnostic/neverStarted(_:)``. A promise made by `Promise.value`, `Promise.on`
/// or a ``Deferred`` is *hot*: its work has started.
///
/// **Handlers** are called at most once, and never on the stack of the code that attaches them or
/// settles the promise (Promises/A+ 2.2). They run on other threads, so they may start before that
/// code returns. They are dispatched one after another, in the order of attachment. Handlers for
/// the same serial queue, handlers for the main actor, and handlers without a queue are each called
/// in that order. A busy queue delays only its own handlers. A handler isolated to an actor, as in
/// code of the main actor, runs on that actor; others on a thread of the global pool; `on:` selects
/// a dispatch queue; an asynchronous handler, and any of `finally` without a queue, runs in its own
/// task, and the next handler starts at its first suspension, except on [older Apple
/// systems](doc:StrictConcurrency#Platforms). A handler that blocks delays the handlers that it
/// made runnable; ``wait(timeout:)`` does not.
///
/// **Failures** propagate down a chain until a handler receives them. An unhandled failure is
/// reported once, as ``Diagnostic/unhandledFailure(_:_:)``; a cancellation is not.
///
/// **Steps.** A promise is a ``Promisable``. Added before it has started, it starts in its turn,
/// even if it is demanded earlier. The manager continues when the promise is settled and its work
/// has ended.
///
/// Copies of a promise are the same promise. All members are safe to use on any thread, and take
/// constant time unless documented otherwise. Chains of any length, and combinations nested to any
/// depth, use constant stack. No lock is held while user code runs or user objects are released.
public struct Promise<Value: Sendable>: Promisable, Sendable {
  @usableFromInline
  let erased: AnyPromise

  /// Wraps a promise whose work has started.
  init(hot core: Core) {
    erased = AnyPromise(core: core, lifeline: nil)
  }

  /// Restores the type of an erased promise.
  @inlinable
  init(_ erased: AnyPromise) {
    self.erased = erased
  }

  var core: Core { erased.core }

  // MARK: Cold

  /// Creates a cold promise from a closure that calls `resolve` or `reject`.
  ///
  /// The closure is called on the thread that demands the promise or, if it is isolated to an
  /// actor, on that actor. If both callbacks are released without a call, the promise fails with
  /// ``PromiseError/abandonedPromise(_:)``.
  ///
  /// ```swift
  /// let answer = Promise<Int>("answer") { resolve, _ in
  ///   ask { answer in resolve(answer) }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name in errors, diagnostics and, as a step, events.
  ///   - diagnostics: The handler for misuse of this promise and its chain; nil selects
  ///     ``DiagnosticHandler/shared``.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  ///   - body: Starts the work. Calls `resolve` with the value, or `reject` with the error. Only
  ///     the first call counts; further calls are reported. Throwing rejects.
  public init(
    _ name: String? = nil, diagnostics: DiagnosticHandler? = nil,
    file: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext
    _ body:
      @escaping @isolated(any) @Sendable (
        _ resolve: @escaping @Sendable (Value) -> Void,
        _ reject: @escaping @Sendable (any Error) -> Void
      ) throws -> Void
  ) {
    let start = unsafeBitCast(IsolatedResolver(start: body), to: Resolver<Value>.self).start
    self.init(Origin(name, file, line, diagnostics), body.isolation) { deferred in
      try start({ deferred.fulfill($0) }, { deferred.fail($0) })
    }
  }

  /// Creates a cold promise from a closure that settles a ``Deferred``.
  ///
  /// For work that reports progress, supports cancellation, or ends with another promise:
  ///
  /// ```swift
  /// let file = Promise<String> { deferred in
  ///   let download = Download(url) { deferred.progress($0) }
  ///   deferred.onCancel { download.stop() }
  ///   download.start { data in deferred.fulfill(data) }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name in errors, diagnostics and, as a step, events.
  ///   - diagnostics: The handler for misuse of this promise and its chain; nil selects
  ///     ``DiagnosticHandler/shared``.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  ///   - body: Starts the work, on the thread that demands the promise or, if it is isolated to an
  ///     actor, on that actor. Throwing fails the promise.
  public init(
    _ name: String? = nil, diagnostics: DiagnosticHandler? = nil,
    file: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext
    _ body: @escaping @isolated(any) @Sendable (_ deferred: Deferred<Value>) throws -> Void
  ) {
    let start = unsafeBitCast(IsolatedBody(start: body), to: Body<Value>.self).start
    self.init(Origin(name, file, line, diagnostics), body.isolation, start)
  }

  private init(
    _ origin: Origin, _ isolation: (any Actor)?,
    _ body: @escaping @Sendable (Deferred<Value>) throws -> Void
  ) {
    let traits = Core.Traits(origin: origin, startsOnMainQueue: MainQueue.is(isolation))
    self.init(cold: traits, isCancellable: false, isolation: isolation) { deferred in
      do { try body(deferred) } catch { deferred.fail(error) }
    }
  }

  /// Creates a cold promise from asynchronous work.
  ///
  /// The work runs in its own task. Canceling the promise cancels that task. The work can report
  /// its progress, with ``reportProgress(_:)``.
  ///
  /// ```swift
  /// let page = Promise("page") { try await load(url) }
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name in errors, diagnostics and, as a step, events.
  ///   - diagnostics: The handler for misuse of this promise and its chain; nil selects
  ///     ``DiagnosticHandler/shared``.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  ///   - operation: The work.
  public init(
    _ name: String? = nil, diagnostics: DiagnosticHandler? = nil,
    file: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext
    _ operation: @escaping @isolated(any) @Sendable () async throws -> Value
  ) {
    let traits = Core.Traits(
      origin: Origin(name, file, line, diagnostics),
      runsOnMainQueue: MainQueue.is(operation.isolation))
    self.init(cold: traits) { deferred in
      let work = PromiseWork(of: deferred.core)
      // Registered before the work starts, so that code started by the work can cancel the promise.
      deferred.onCancel { work.cancelHandle() }
      // Nil inherits the priority.
      let known = TaskPriority(rawValue: deferred.core.withLock { $0.priority })
      let needed = known > Task.currentPriority ? known : nil
      // The task inherits the mark.
      let task = RunningStep.local.withValue(RunningStep.Mark(.current, work)) {
        Task(priority: needed) {
          do {
            let value = try await operation()
            work.end()
            deferred.tryFulfill(value)
          } catch {
            work.end()
            deferred.tryFail(error)
          }
        }
      }
      work.store(task)
      // If the promise was canceled in between, the cancellation found no task.
      let (wasCancelled, priority) = deferred.core.withLock {
        ($0.wasCancelled, $0.work(in: work))
      }
      if wasCancelled { task.cancel() }
      if priority > 0 { task.raise(to: TaskPriority(rawValue: priority)) }
    }
  }

  init(
    cold traits: Core.Traits, isCancellable: Bool = true, isRepeatable: Bool = true,
    isolation: (any Actor)? = nil, _ begin: @escaping @Sendable (Deferred<Value>) -> Void
  ) {
    let core = Core(traits, isDemanded: false)
    let root = UnstartedRoot(core)
    let recipe = ColdRecipe(
      begin, isCancellable: isCancellable, isRepeatable: isRepeatable, isolation: isolation)
    core.withLock { $0.wait(toStart: recipe, root: root) }
    erased = AnyPromise(core: core, lifeline: Lifeline(.root(root)))
  }

  /// Starts the promise, and those that it depends on, unless they have already started.
  ///
  /// Takes time proportional to the number of links that have not been demanded before.
  ///
  /// ```swift
  /// page.start()  // loads now, even if nothing awaits the value yet
  /// ```
  ///
  /// - Returns: The promise itself.
  @discardableResult
  public func start() -> Promise {
    core.demand()
    return self
  }

  // MARK: State

  /// The state of a promise.
  ///
  /// ```swift
  /// switch page.state {
  /// case .pending: show("loading")
  /// case .fulfilled(let text): show(text)
  /// case .failed(let error): show(error)
  /// }
  /// ```
  public enum State: Sendable {
    /// The promise is not settled.
    case pending
    /// The promise has a value.
    case fulfilled(Value)
    /// The promise has failed.
    case failed(any Error)
  }

  /// The current state.
  ///
  /// Reading a failure marks it as handled.
  ///
  /// ```swift
  /// switch page.state {
  /// case .pending: show("loading")
  /// case .fulfilled(let text): show(text)
  /// case .failed(let error): show(error)
  /// }
  /// ```
  public var state: State {
    switch core.poll()?.result(of: Value.self) {
    case nil: .pending
    case .success(let value): .fulfilled(value)
    case .failure(let error): .failed(error)
    }
  }

  /// The progress of the work from 0 to 1.
  ///
  /// Takes time proportional to the number of links between the promise and the running one.
  ///
  /// ```swift
  /// let percent = Int(page.progress * 100)
  /// ```
  public var progress: Double { core.updateProgress() }

  /// Whether ``cancel()`` would cancel the promise now, and so return true.
  ///
  /// False for a settled promise, and for one whose work has begun and registered no
  /// ``Deferred/onCancel(_:)``. May change at any time: the promise may be settled, or its work
  /// start.
  ///
  /// ```swift
  /// let button = page.isCancellable ? "Cancel" : "Please wait"
  /// ```
  public var isCancellable: Bool { core.withLock { $0.isCancellable } }

  /// Cancels the promise.
  ///
  /// The promise fails with a `CancellationError`. Its cancel handlers are called on this thread,
  /// and then its other handlers run. Cancellation requires a way to stop the work: a promise whose
  /// owner registered no ``Deferred/onCancel(_:)`` continues. While its body runs, a cancellation
  /// waits for the end of the body, which may register one, and this returns false. A derived
  /// promise can always be canceled. This also cancels the promise it was derived from, unless
  /// something else wants its outcome. A settled promise does not change.
  ///
  /// Takes time proportional to the number of promises that it is derived from.
  ///
  /// ```swift
  /// if other.cancel() { show("called off") }  // unless it was settled already
  /// ```
  ///
  /// - Returns: Whether this call canceled the promise.
  @discardableResult
  public func cancel() -> Bool {
    core.cancel()
  }
}

// The bodies of a promise, and the same of any isolation. `unisolated` would pass the first in a
// general form, with which a promise as a step costs 5 % more instructions, and the second has two
// parameters.

private struct Body<Value: Sendable> {
  let start: @Sendable (Deferred<Value>) throws -> Void
}

private struct IsolatedBody<Value: Sendable> {
  let start: @isolated(any) @Sendable (Deferred<Value>) throws -> Void
}

private struct Resolver<Value> {
  let start:
    @Sendable (
      @escaping @Sendable (Value) -> Void, @escaping @Sendable (any Error) -> Void
    ) throws -> Void
}

private struct IsolatedResolver<Value> {
  let start:
    @isolated(any) @Sendable (
      @escaping @Sendable (Value) -> Void, @escaping @Sendable (any Error) -> Void
    ) throws -> Void
}

/// The work of a cold promise.
private final class ColdRecipe<Value: Sendable>: Recipe {
  private let begin: @Sendable (Deferred<Value>) -> Void
  let isCancellable: Bool
  private let isRepeatable: Bool
  private let isolation: (any Actor)?

  init(
    _ begin: @escaping @Sendable (Deferred<Value>) -> Void, isCancellable: Bool,
    isRepeatable: Bool, isolation: (any Actor)?
  ) {
    self.begin = begin
    self.isCancellable = isCancellable
    self.isRepeatable = isRepeatable
    self.isolation = isolation
  }

  func start(_ core: Core) {
    let deferred = Deferred<Value>(settling: core)
    guard let isolation else { return start(deferred) }
    HandlerPlace.call(on: isolation) { self.start(deferred) }
  }

  private func start(_ deferred: Deferred<Value>) {
    let core = deferred.core
    let (isCancelled, isPending) = core.withLock { ($0.wasCancelled, $0.start == .cancelPending) }
    // Canceled in between: the work never starts, and only this deferred could settle the promise.
    if isPending { core.onCancel {} } else if !isCancelled { begin(deferred) }
    // A cancellation before the registration of the cancel handler, if there is one.
    if !isCancellable, core.withLock({ $0.started() }) { core.cancel() }
  }

  var copy: (@Sendable (Core.Traits) -> AnyPromise)? {
    guard isRepeatable else { return nil }
    return { [begin, isCancellable, isolation] traits in
      Promise(cold: traits, isCancellable: isCancellable, isolation: isolation, begin).erased
    }
  }
}

extension Promise: PromiseOfAnyType {}
