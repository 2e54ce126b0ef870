/// The write end of a promise, which settles it.
///
/// Keep the deferred private and return its ``promise``:
///
/// ```swift
/// func answer() -> Promise<Int> {
///   let deferred = Deferred<Int>()
///   ask { answer in deferred.fulfill(answer) }
///   return deferred.promise
/// }
/// ```
///
/// If the last reference is released while the promise is pending, the promise fails with
/// ``PromiseError/abandonedPromise(_:)``, so that its handlers do not wait forever.
///
/// All members are safe to use on any thread, and take constant time plus time proportional to the
/// number of attached handlers.
public final class Deferred<Value: Sendable>: Sendable {
  let core: Core

  /// Creates a pending promise.
  ///
  /// ```swift
  /// let deferred = Deferred<Int>("answer")
  /// ask { answer in deferred.fulfill(answer) }
  /// let answer = try await deferred.promise.value
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name in errors, diagnostics and, as a step, events.
  ///   - diagnostics: The handler for misuse of this promise and its chain; nil selects
  ///     ``DiagnosticHandler/shared``.
  ///   - file: The source location, for diagnostics.
  ///   - line: The source location, for diagnostics.
  public convenience init(
    _ name: String? = nil, diagnostics: DiagnosticHandler? = nil,
    file: StaticString = #fileID, line: UInt = #line
  ) {
    self.init(settling: Core(origin: Origin(name, file, line, diagnostics), hasProducer: true))
  }

  init(settling core: Core) {
    self.core = core
  }

  deinit {
    // Most promises are settled by then, and the error needs memory for its text.
    guard core.withLock({ $0.hasProducer || !$0.isSettled }) else { return }
    core.settle(
      .failure(PromiseError.abandonedPromise(core.origin.identity)), by: .owner)
  }

  /// The promise that this deferred settles.
  ///
  /// ```swift
  /// let deferred = Deferred<Int>("answer")
  /// ask { answer in deferred.fulfill(answer) }
  /// let answer = try await deferred.promise.value
  /// ```
  public var promise: Promise<Value> { Promise(hot: core) }

  /// Fulfills the promise.
  ///
  /// If it is already settled, the call has no effect and is reported.
  ///
  /// A call after a cancellation is not reported, because the owner may not know of it yet.
  ///
  /// ```swift
  /// let deferred = Deferred<Int>("answer")
  /// ask { answer in deferred.fulfill(answer) }
  /// let answer = try await deferred.promise.value
  /// ```
  ///
  /// - Parameter value: The value.
  public func fulfill(_ value: Value) {
    if !tryFulfill(value) { reportLate() }
  }

  /// Fails the promise.
  ///
  /// If it is already settled, the call has no effect and is reported.
  ///
  /// ```swift
  /// fetchName { name, error in
  ///   guard let name else { return deferred.fail(error ?? Missing()) }
  ///   deferred.fulfill(name)
  /// }
  /// ```
  ///
  /// - Parameter error: The error.
  public func fail(_ error: any Error) {
    if !tryFail(error) { reportLate() }
  }

  /// Settles the promise with a result.
  ///
  /// If it is already settled, the call has no effect and is reported.
  ///
  /// ```swift
  /// let deferred = Deferred<String>()
  /// lookUp { result in deferred.settle(with: result) }
  /// let name = try await deferred.promise.value
  /// ```
  ///
  /// - Parameter result: The value or the error.
  public func settle(with result: Result<Value, some Error>) {
    settle(with: result.mapError { $0 as any Error })
  }

  /// Settles the promise with a result.
  ///
  /// If it is already settled, the call has no effect and is reported.
  ///
  /// For a result without a concrete error type, such as a literal.
  ///
  /// ```swift
  /// let deferred = Deferred<Int>()
  /// deferred.settle(with: .success(42))
  /// ```
  ///
  /// - Parameter result: The value or the error.
  public func settle(with result: Result<Value, any Error>) {
    switch result {
    case .success(let value): fulfill(value)
    case .failure(let error): fail(error)
    }
  }

  /// Fulfills the promise, unless it is already settled.
  ///
  /// ```swift
  /// if !deferred.tryFulfill(43) { show("settled already") }
  /// ```
  ///
  /// - Parameter value: The value.
  /// - Returns: Whether this call settled the promise.
  @discardableResult
  public func tryFulfill(_ value: Value) -> Bool {
    core.settle(.value(value), by: .owner)
  }

  /// Fails the promise, unless it is already settled.
  ///
  /// ```swift
  /// deferred.tryFail(TooSlow())  // no effect if the answer came in time
  /// ```
  ///
  /// - Parameter error: The error.
  /// - Returns: Whether this call settled the promise.
  @discardableResult
  public func tryFail(_ error: any Error) -> Bool {
    core.settle(.failure(error), by: .owner)
  }

  /// Reports the progress of the work.
  ///
  /// A value that decreases, is outside 0…1, or comes after the promise was settled or resolved
  /// with another has no effect and is reported, unless `cancel()` has settled it. Differences
  /// within the precision of `Float` are ignored.
  ///
  /// ```swift
  /// let deferred = Deferred<String>()
  /// let transfer = Transfer(file) { error in
  ///   if let error { deferred.tryFail(error) }
  /// }
  /// deferred.onCancel { transfer.stop() }
  /// deferred.progress(0.5)
  /// ```
  ///
  /// - Parameter fraction: The progress from 0 to 1.
  public func progress(_ fraction: Double) {
    let (change, effects, current, wasCancelled) = core.withLock { settlement in
      let (change, effects) = settlement.report(fraction)
      return (change, effects, settlement.progress, settlement.wasCancelled)
    }
    if change == .refused, !wasCancelled {
      core.origin.report(
        .promiseProgressIgnored(core.origin.identity, current: current, reported: fraction))
    }
    core.carryOut(effects)
  }

  /// Registers a cancel handler.
  ///
  /// A promise without one cannot be canceled.
  ///
  /// The handler is called once, on the thread that cancels, before other handlers run. If the
  /// promise is already canceled, it is called immediately on the calling thread. A closure
  /// isolated to an actor is called there instead, and may be called after the cancellation has
  /// returned.
  ///
  /// ```swift
  /// let deferred = Deferred<String>()
  /// let transfer = Transfer(file) { error in
  ///   if let error { deferred.tryFail(error) }
  /// }
  /// deferred.onCancel { transfer.stop() }
  /// deferred.progress(0.5)
  /// ```
  ///
  /// - Parameter handler: Stops the work.
  public func onCancel(
    @_inheritActorContext _ handler: @escaping @isolated(any) @Sendable () -> Void
  ) {
    core.onCancel(HandlerPlace.onActor(of: handler))
  }

  /// Whether the promise was canceled.
  var wasCancelled: Bool { core.withLock { $0.wasCancelled } }

  /// Resolves the promise with another, which alone can settle it from now on.
  func adopt(_ promise: Promise<Value>) {
    let isFirst = Agenda.run { core.adopt(promise.erased, share: ProgressShare(), &$0) }
    if isFirst { return }
    core.endProducing()
    reportLate()
  }

  private func reportLate() {
    guard !wasCancelled else { return }
    core.origin.report(.settledAgain(core.origin.identity))
  }
}
