/// A value that is there later, or the reason why it never will be.
///
/// A promise is pending, then fulfilled with a value or failed with an error, once and for ever.
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
/// **Cold and hot.** A promise made from a closure, as above, is *cold*: it does nothing until it is
/// demanded by ``start()``, by awaiting its ``value``, by ``wait(timeout:)``, by a
/// ``PromiseManager`` that reaches it, or by demanding anything that was made from it. The
/// closure runs once, however often it is demanded. If nothing demands it, handlers that wait for it never
/// run, which is reported as ``Diagnostic/neverStarted(_:)``. A promise made by `Promise.value`,
/// `Promise.on`, a ``Deferred`` and the like is *hot*: its work has begun.
///
/// **Handlers** are called at most once, and never on the stack of the code that attaches them or
/// settles the promise (Promises/A+ 2.2): as they run on other threads, they may begin before that
/// code has returned. They are sent to where they run one after another, in the order of attaching:
/// those for one serial queue, those for the main actor, and those without a place of their own are
/// each called in that order, and a place that is busy holds up its own handlers only. By default
/// they run on a thread of the system's global pool; `on:` names a dispatch queue; a `@MainActor`
/// closure runs on the main actor; an asynchronous one in a task of its own, and the next handler
/// begins when that has first been suspended. A handler that blocks holds up those that it made
/// runnable; ``wait(timeout:)`` does not.
///
/// **Failures** travel down a chain until somebody deals with them. One that nobody ever looks at
/// is reported, once, as ``Diagnostic/unhandledFailure(_:_:)``; a cancellation is not.
///
/// **As a step.** A promise is a ``Promisable``. One that has not begun begins when the manager reaches
/// it, however it is wanted before; the manager goes on when it is settled and its work has ended.
///
/// Copies of a promise are the same promise. All members may be used from any thread and take
/// constant time where nothing else is said; chains of any length, and combinations nested to any
/// depth, need constant stack. No lock is held while anything that was handed in runs or is released.
public struct Promise<Value: Sendable>: Promisable, Sendable {
  @usableFromInline
  let erased: AnyPromise

  /// A promise whose work has begun.
  init(hot core: Core) {
    erased = AnyPromise(core: core, lifeline: nil)
  }

  /// A promise whose type was forgotten.
  @inlinable
  init(_ erased: AnyPromise) {
    self.erased = erased
  }

  var core: Core { erased.core }

  // MARK: Cold

  /// Makes a cold promise from a closure that works with callbacks.
  ///
  /// The closure is called on the thread that demands the promise. If both closures go away uncalled,
  /// the promise fails with ``PromiseError/abandonedPromise(_:)``.
  ///
  /// ```swift
  /// let answer = Promise<Int>("answer") { resolve, _ in
  ///   ask { answer in resolve(answer) }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - name: What the promise is called in errors, diagnostics and, as a step, events.
  ///   - diagnostics: Where misuse is reported, here and down the chain; nil means
  ///     ``DiagnosticHandler/shared``.
  ///   - file: Where the promise is made, for diagnostics.
  ///   - line: Where the promise is made, for diagnostics.
  ///   - body: Starts the work, and has `resolve` called with the value, or `reject` with the
  ///     error. The first call counts; a later one is reported. Throwing rejects.
  public init(
    _ name: String? = nil, diagnostics: DiagnosticHandler? = nil,
    file: StaticString = #fileID, line: UInt = #line,
    _ body:
      @escaping @Sendable (
        _ resolve: @escaping @Sendable (Value) -> Void,
        _ reject: @escaping @Sendable (any Error) -> Void
      ) throws -> Void
  ) {
    self.init(name, diagnostics: diagnostics, file: file, line: line) { deferred in
      try body({ deferred.fulfill($0) }, { deferred.fail($0) })
    }
  }

  /// Makes a cold promise from a closure that settles a ``Deferred``.
  ///
  /// For work that reports progress, can be cancelled, or ends with another promise:
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
  ///   - name: What the promise is called in errors, diagnostics and, as a step, events.
  ///   - diagnostics: Where misuse is reported, here and down the chain; nil means
  ///     ``DiagnosticHandler/shared``.
  ///   - file: Where the promise is made, for diagnostics.
  ///   - line: Where the promise is made, for diagnostics.
  ///   - body: Starts the work; called on the thread that demands the promise. Throwing fails it.
  public init(
    _ name: String? = nil, diagnostics: DiagnosticHandler? = nil,
    file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (_ deferred: Deferred<Value>) throws -> Void
  ) {
    self.init(cold: Origin(name, file, line, diagnostics)) { deferred in
      do { try body(deferred) } catch { deferred.fail(error) }
    }
  }

  /// Makes a cold promise from asynchronous work.
  ///
  /// The work runs in a task of its own; cancelling the promise cancels that task.
  ///
  /// ```swift
  /// let page = Promise("page") { try await load(url) }
  /// ```
  ///
  /// - Parameters:
  ///   - name: What the promise is called in errors, diagnostics and, as a step, events.
  ///   - diagnostics: Where misuse is reported, here and down the chain; nil means
  ///     ``DiagnosticHandler/shared``.
  ///   - file: Where the promise is made, for diagnostics.
  ///   - line: Where the promise is made, for diagnostics.
  ///   - operation: The work.
  public init(
    _ name: String? = nil, diagnostics: DiagnosticHandler? = nil,
    file: StaticString = #fileID, line: UInt = #line,
    _ operation: @escaping @isolated(any) @Sendable () async throws -> Value
  ) {
    let isOnMainQueue = MainQueue.is(operation.isolation)
    self.init(cold: Origin(name, file, line, diagnostics), isOnMainQueue: isOnMainQueue) {
      deferred in
      // Registered before the work begins, or a promise could not be canceled by what that starts.
      let running = Locked<Task<Void, Never>?>(nil)
      deferred.onCancel { running.withLock { $0 }?.cancel() }
      let task = Task {
        do { deferred.tryFulfill(try await operation()) } catch { deferred.tryFail(error) }
      }
      running.withLock { $0 = task }
      // Canceled in between, it found no task.
      if deferred.wasCancelled { task.cancel() }
    }
  }

  init(
    cold origin: Origin, isOnMainQueue: Bool = false,
    _ begin: @escaping @Sendable (Deferred<Value>) -> Void
  ) {
    let core = Core(
      Core.Traits(origin: origin, runsOnMainQueue: isOnMainQueue), isDemanded: false)
    core.withLock { $0.recipe = ColdRecipe(begin: begin, isOnMainQueue: isOnMainQueue) }
    erased = AnyPromise(core: core, lifeline: Lifeline(root: core))
  }

  /// Starts the promise if it is cold and has not been started, and what it was made from.
  ///
  /// Takes time in proportion to the links that have not been demanded before.
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

  // MARK: Looking

  /// Where a promise is on its way.
  ///
  /// ```swift
  /// switch page.state {
  /// case .pending: show("loading")
  /// case .fulfilled(let text): show(text)
  /// case .failed(let error): show(error)
  /// }
  /// ```
  public enum State: Sendable {
    /// It is not settled.
    case pending
    /// It has a value.
    case fulfilled(Value)
    /// It has failed.
    case failed(any Error)
  }

  /// Where the promise is on its way; a failure that is read here counts as looked at.
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

  /// How far the work has come, from 0 to 1.
  ///
  /// Takes time in proportion to the links between the promise and the one that is at work.
  ///
  /// ```swift
  /// let percent = Int(page.progress * 100)
  /// ```
  public var progress: Double { core.currentProgress }

  /// Calls the promise off.
  ///
  /// It fails with a `CancellationError`, then its cancel handlers are called on this thread, and
  /// then those who wait are told. That needs somebody who knows how to stop the work: a promise
  /// whose owner registered no ``Deferred/onCancel(_:)`` goes on. A promise made from another can
  /// always be cancelled, and cancels that one as well when nobody else wants its outcome. A
  /// settled promise stays as it is.
  ///
  /// Takes time in proportion to the promises that are cancelled.
  ///
  /// ```swift
  /// if other.cancel() { show("called off") }  // unless it was settled already
  /// ```
  ///
  /// - Returns: Whether this cancelled the promise.
  @discardableResult
  public func cancel() -> Bool {
    core.cancel()
  }
}

/// How a cold promise begins.
private struct ColdRecipe<Value: Sendable>: Recipe {
  let begin: @Sendable (Deferred<Value>) -> Void
  let isOnMainQueue: Bool

  var settles: Bool { true }

  func start(_ core: Core) {
    let deferred = Deferred<Value>(settling: core)
    // Called off in between: the work never begins, and this was the only one to settle it.
    if !core.withLock({ $0.wasCancelled }) { begin(deferred) }
  }

  func copy(_ origin: Origin) -> AnyPromise {
    Promise<Value>(cold: origin, isOnMainQueue: isOnMainQueue, begin).erased
  }
}

extension Promise: PromiseOfAnyType {}
