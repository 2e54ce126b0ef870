/// The callback that ends a step.
///
/// Call it when the step is done, so that the next step can start.
///
/// ```swift
/// manager.add { then in upload(file) { error in then(error) } }
/// ```
///
/// - Only the first call counts. A second call has no effect and is reported as a ``Diagnostic``.
/// - It may be called on any thread, during the handler or later.
/// - If the last copy is released without a call, the step fails with
///   ``PromiseError/abandoned(_:)`` and the queue continues.
///
/// A call takes constant time, plus the time of the steps that run because of it.
public struct Then: Sendable {
  // Not a class: a weak reference to a reused token would end the step that uses it now.
  let token: Token

  /// Ends the step.
  ///
  /// If the handler has returned, the next steps run on the calling thread, or where the manager's
  /// `on:` specifies.
  ///
  /// ```swift
  /// manager.add { then in
  ///   upload(file) { error in
  ///     if let error { then(error) } else { then() }
  ///   }
  /// }
  /// ```
  ///
  /// - Parameter error: The error of a step that failed; nil if it succeeded.
  public func callAsFunction(_ error: (any Error)? = nil) {
    token.call(error)
  }

  /// Registers a handler for the cancellation of the running step.
  ///
  /// The step must still call `then`, with any error if it was stopped. The handler is
  /// called once, on the thread that cancels. If the step is already canceled, it is called
  /// immediately on the calling thread. It is released when the step ends. A closure isolated to an
  /// actor is called there instead, possibly after the cancellation has returned and the step has
  /// ended.
  ///
  /// A handler that captures `then` prevents the detection of a dropped `then`.
  ///
  /// ```swift
  /// manager.add { then in
  ///   let transfer = Transfer(file) { error in then(error) }
  ///   then.onCancel { transfer.stop() }
  /// }
  /// ```
  ///
  /// - Parameter handler: Stops the work.
  public func onCancel(
    @_inheritActorContext _ handler: @escaping @isolated(any) @Sendable () -> Void
  ) {
    let handler = HandlerPlace.onActor(of: handler)
    let isCancelled = token.lock.withLock { $0.supervision(of: token.id)?.onCancel(handler) }
    if isCancelled == true { handler() }
  }

  /// Whether the running step was canceled; false after it has ended.
  ///
  /// ```swift
  /// manager.add { then in
  ///   for url in urls where !then.isCancelled { show(url) }
  ///   then(then.isCancelled ? CancellationError() : nil)
  /// }
  /// ```
  public var isCancelled: Bool {
    token.lock.withLock { $0.isRunning(token.id) && $0.isCancelRequested }
  }

  /// Reports the progress of the step.
  ///
  /// A value that decreases or is outside 0…1 has no effect and is reported as a ``Diagnostic``.
  /// Differences within the precision of `Float` are ignored. After the end of the step, a call has
  /// no effect, and is not reported.
  ///
  /// ```swift
  /// manager.add { then in
  ///   for (index, url) in urls.enumerated() {
  ///     show(url)
  ///     then.progress(Double(index + 1) / Double(urls.count))
  ///   }
  ///   then()
  /// }
  /// ```
  ///
  /// - Parameter fraction: The progress from 0 to 1.
  public func progress(_ fraction: Double) {
    token.lock.report(fraction, ofStep: token.id)
  }
}

extension Locked where State == SerialOrder {
  /// Reports the progress of a step, if it runs.
  func report(_ fraction: Double, ofStep id: Int) {
    let (change, next, place, current, step) = withLock { order in
      let change = order.supervision(of: id)?.progress.report(fraction) ?? .unchanged
      let next: (() -> Void)? =
        if case .risen(let fraction) = change {
          order.queue.firstRecord?.progressed(to: fraction)
        } else {
          nil
        }
      return (change, next, order.diagnostics, order.stepProgress, order.runningStep)
    }
    if change == .refused, let step {
      (place ?? .shared).report(.progressIgnored(step, current: current, reported: fraction))
    }
    next?()
  }
}
