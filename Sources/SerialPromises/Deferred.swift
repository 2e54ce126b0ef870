/// The one who can settle a promise.
///
/// Keep it to yourself and hand out its ``promise``:
///
/// ```swift
/// func answer() -> Promise<Int> {
///   let deferred = Deferred<Int>()
///   ask { answer in deferred.fulfill(answer) }
///   return deferred.promise
/// }
/// ```
///
/// If the last reference goes away and the promise is still pending, it fails with
/// ``PromiseError/abandonedPromise(_:)``: whoever waits is told, instead of waiting for ever.
///
/// All members may be used from any thread and take constant time, beside what is in proportion to
/// the handlers that are attached.
public final class Deferred<Value: Sendable>: Sendable {
  let core: Core

  /// Makes a pending promise.
  ///
  /// ```swift
  /// let deferred = Deferred<Int>("answer")
  /// ask { answer in deferred.fulfill(answer) }
  /// let answer = try await deferred.promise.value
  /// ```
  ///
  /// - Parameters:
  ///   - name: What the promise is called in errors, diagnostics and, as a step, events.
  ///   - diagnostics: Where misuse is reported, here and down the chain; nil means
  ///     ``DiagnosticHandler/shared``.
  ///   - file: Where the promise is made, for diagnostics.
  ///   - line: Where the promise is made, for diagnostics.
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
    core.settle(
      .failure(PromiseError.abandonedPromise(core.origin.identity)), by: .owner)
  }

  /// The promise that only this can settle.
  ///
  /// ```swift
  /// let deferred = Deferred<Int>("answer")
  /// ask { answer in deferred.fulfill(answer) }
  /// let answer = try await deferred.promise.value
  /// ```
  public var promise: Promise<Value> { Promise(hot: core) }

  /// Fulfills the promise; if it is settled already, that is reported and nothing changes.
  ///
  /// A promise that was cancelled is left as it is without a report: its owner may not know yet.
  ///
  /// ```swift
  /// let deferred = Deferred<Int>("answer")
  /// ask { answer in deferred.fulfill(answer) }
  /// let answer = try await deferred.promise.value
  /// ```
  ///
  /// - Parameter value: The promise's value.
  public func fulfill(_ value: Value) {
    if !tryFulfill(value) { reportLate() }
  }

  /// Fails the promise; if it is settled already, that is reported and nothing changes.
  ///
  /// ```swift
  /// fetchName { name, error in
  ///   if let name { deferred.fulfill(name) } else { deferred.fail(error ?? Missing()) }
  /// }
  /// ```
  ///
  /// - Parameter error: Why there is no value.
  public func fail(_ error: any Error) {
    if !tryFail(error) { reportLate() }
  }

  /// Settles the promise with a result; if it is settled already, that is reported and nothing
  /// changes.
  ///
  /// ```swift
  /// let deferred = Deferred<String>()
  /// lookUp { result in deferred.settle(with: result) }
  /// let name = try await deferred.promise.value
  /// ```
  ///
  /// - Parameter result: The promise's value, or why there is none.
  public func settle(with result: Result<Value, some Error>) {
    if !trySettle(with: result) { reportLate() }
  }

  /// Settles the promise with a result; if it is settled already, that is reported and nothing
  /// changes.
  ///
  /// For a result whose type of error is not known, because it is written in place, for instance.
  ///
  /// ```swift
  /// let deferred = Deferred<Int>()
  /// deferred.settle(with: .success(42))
  /// ```
  ///
  /// - Parameter result: The promise's value, or why there is none.
  public func settle(with result: Result<Value, any Error>) {
    if !trySettle(with: result) { reportLate() }
  }

  /// Fulfills the promise unless it is settled already.
  ///
  /// ```swift
  /// if !deferred.tryFulfill(43) { show("settled already") }
  /// ```
  ///
  /// - Parameter value: The promise's value.
  /// - Returns: Whether this settled it.
  @discardableResult
  public func tryFulfill(_ value: Value) -> Bool {
    core.settle(.value(value), by: .owner)
  }

  /// Fails the promise unless it is settled already.
  ///
  /// ```swift
  /// deferred.tryFail(TooSlow())  // no effect if the answer came in time
  /// ```
  ///
  /// - Parameter error: Why there is no value.
  /// - Returns: Whether this settled it.
  @discardableResult
  public func tryFail(_ error: any Error) -> Bool {
    core.settle(.failure(error), by: .owner)
  }

  /// Settles the promise with a result unless it is settled already.
  ///
  /// ```swift
  /// deferred.trySettle(with: Result { try parse(text) })  // no effect if it is settled
  /// ```
  ///
  /// - Parameter result: The promise's value, or why there is none.
  /// - Returns: Whether this settled it.
  @discardableResult
  public func trySettle(with result: Result<Value, some Error>) -> Bool {
    trySettle(with: result.mapError { $0 as any Error })
  }

  /// Settles the promise with a result unless it is settled already.
  ///
  /// For a result whose type of error is not known, because it is written in place, for instance.
  ///
  /// ```swift
  /// deferred.trySettle(with: .failure(TooSlow()))  // no effect if it is settled
  /// ```
  ///
  /// - Parameter result: The promise's value, or why there is none.
  /// - Returns: Whether this settled it.
  @discardableResult
  public func trySettle(with result: Result<Value, any Error>) -> Bool {
    switch result {
    case .success(let value): tryFulfill(value)
    case .failure(let error): tryFail(error)
    }
  }

  /// Says how far the work has come.
  ///
  /// A rise of no more than the smallest step of a `Float` is ignored. A fall, a value over 1, and
  /// progress of a promise that is settled change nothing and are reported.
  ///
  /// ```swift
  /// let deferred = Deferred<String>()
  /// let transfer = Transfer(file) { error in if let error { deferred.tryFail(error) } }
  /// deferred.onCancel { transfer.stop() }
  /// deferred.progress(0.5)
  /// ```
  ///
  /// - Parameter fraction: From 0 to 1.
  public func progress(_ fraction: Double) {
    let (change, consequences, current, wasCancelled) = core.withLock { settlement in
      let (change, consequences) = settlement.report(fraction)
      return (change, consequences, settlement.progress, settlement.wasCancelled)
    }
    if change == .refused, !wasCancelled {
      core.origin.report(
        .promiseProgressIgnored(core.origin.identity, current: current, reported: fraction))
    }
    var agenda = Agenda()
    core.carryOut(consequences, &agenda)
    agenda.run()
  }

  /// Says how far the work has come, if that is further than was known.
  func rise(to fraction: Double) {
    var agenda = Agenda()
    core.rise(to: fraction, &agenda)
    agenda.run()
  }

  /// Registers what to do when the promise is cancelled: without it, it cannot be.
  ///
  /// The handler is called once, on the thread that cancels, and before those who wait are told;
  /// if the promise has been cancelled already, now, on this thread.
  ///
  /// ```swift
  /// let deferred = Deferred<String>()
  /// let transfer = Transfer(file) { error in if let error { deferred.tryFail(error) } }
  /// deferred.onCancel { transfer.stop() }
  /// deferred.progress(0.5)
  /// ```
  ///
  /// - Parameter handler: Calls the work off.
  public func onCancel(_ handler: @escaping @Sendable () -> Void) {
    core.onCancel(handler)
  }

  /// Whether the promise was canceled.
  var wasCancelled: Bool { core.withLock { $0.wasCancelled } }

  /// Resolves the promise with another, which alone settles it from now on.
  func adopt(_ promise: Promise<Value>) {
    var agenda = Agenda()
    if !core.adopt(promise.erased, share: ProgressShare(), &agenda) {
      core.endProducing()
      reportLate()
    }
    agenda.run()
  }

  private func reportLate() {
    guard !wasCancelled else { return }
    core.origin.report(.settledAgain(core.origin.identity))
  }
}
