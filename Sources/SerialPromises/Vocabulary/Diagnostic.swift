#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A report of a misuse, an unhandled failure, or a step that exceeds its time limit.
///
/// ```swift
/// let failures = DiagnosticHandler { diagnostic in
///   if case .unhandledFailure(let promise, let error) = diagnostic {
///     log.warning("\(promise): \(error)")
///   }
/// }
/// ```
public enum Diagnostic: Sendable, Hashable, CustomStringConvertible {
  /// `then` was called a second time. Only the first call counts.
  case thenCalledAgain(StepIdentity)

  /// `then` was called after a grace period or an abandoning time limit ended the step.
  ///
  /// Not reported for asynchronous work and promises that were canceled.
  case thenCalledLate(StepIdentity)

  /// A step has timed out and was canceled, and still runs: the next step waits for its end.
  case timedOut(StepIdentity)

  /// A step failed, and nothing received the error.
  ///
  /// Reported when the step has ended or, if its handle is retained, when that is released.
  /// Received means that the handle's ``StepHandle/state-swift.property`` or ``StepHandle/outcome``
  /// was read, that there is a listener of events, or that the policy is ``FailurePolicy/stop``.
  /// Not reported for a canceled step. The failure of a promise that was added as a step is an
  /// ``unhandledFailure(_:_:)`` instead.
  case unhandledStepFailure(StepIdentity, any Error)

  /// A step was refused. The caller may have discarded the handle that has the error.
  case refused(PromiseError)

  /// A step awaited its own manager. The call returned immediately instead of deadlocking.
  case deadlock(StepIdentity)

  /// A wait with a timeout blocks its thread, where something that it waits for has to run first.
  /// It cannot succeed, unless that is canceled.
  ///
  /// The text says what was waited for, and what to do. Without a timeout, the program stops with
  /// it.
  case blockingWait(String)

  /// A progress value was ignored because it decreased or was outside 0…1.
  case progressIgnored(StepIdentity, current: Double, reported: Double)

  /// A progress value was ignored because it decreased, was outside 0…1 or followed the settlement.
  ///
  /// Of the handler of a link, both values are those of the handler, not of the chain.
  case promiseProgressIgnored(PromiseIdentity, current: Double, reported: Double)

  /// A promise was fulfilled, failed or resolved after it had been settled or resolved.
  case settledAgain(PromiseIdentity)

  /// A promise failed and was released, and no handler received the error.
  case unhandledFailure(PromiseIdentity, any Error)

  /// A cold promise with waiting handlers was released without being started: the handlers never
  /// run.
  ///
  /// Reported once for a cold promise and everything derived from it, when the last of them is
  /// released. Requires that one of them has a callback (`fulfilled`, `failed` or `progressed`), or
  /// that a chain ends with `catch` or `finally`. Not reported for a canceled promise, for an input
  /// that a combination no longer needs, or for a chain without such a handler. Handlers of a
  /// combination that another promise can still settle run when it does. If it does not settle the
  /// combination, the diagnostic is reported then, with the source location of the combination.
  case neverStarted(PromiseIdentity)

  /// `retry` was called on a promise whose work cannot be repeated: it has begun, as the work of
  /// `enqueue` has, or it iterates a sequence that is not a collection.
  case cannotRetry(PromiseIdentity)

  /// What happened, its effect, and how to fix it.
  public var description: String {
    switch self {
    case .thenCalledAgain(let step):
      "\(step) called `then` again; only the first call counts; call it once on each path"
    case .thenCalledLate(let step):
      "\(step) called `then` after a time limit or a grace period ended it; the call has no "
        + "effect, but its work may have overlapped with the next step; stop it in `onCancel`, or "
        + "let the next step wait for it, without `abandoning`"
    case .timedOut(let step):
      "\(step) has timed out and still runs, so the next step waits; stop its work in `onCancel`, "
        + "end it with `cancel(grace:)`, or set the time limit with `abandoning: true`; code in "
        + "`withTurn` keeps its turn"
    case .unhandledStepFailure(let step, let error):
      "\(step) failed and the error was not handled: \(error); read the `outcome` of its handle, "
        + "listen to `events`, or choose the policy `.stop`"
    case .refused(let error):
      "a step was refused and will not run: \(error)"
    case .deadlock(let step):
      "\(PromiseError.deadlock(step))"
    case .blockingWait(let text):
      text
    case .progressIgnored(let step, let current, let reported):
      "\(step) reported progress \(reported) after \(current); ignored, progress rises from 0 to 1"
    case .promiseProgressIgnored(let promise, let current, let reported):
      "\(promise) reported progress \(reported) after \(current); ignored, progress rises from 0 "
        + "to 1 until the promise is settled"
    case .settledAgain(let promise):
      "\(promise) was settled again; only the first time counts; settle it once, or use "
        + "`tryFulfill` and `tryFail` where callers race"
    case .unhandledFailure(let promise, let error):
      "\(promise) failed and the error was not handled: \(error); end the chain with `catch`"
    case .neverStarted(let promise):
      "\(promise) was never started, so its handlers never run; call `start()`, await its `value`, "
        + "or add it to a manager"
    case .cannotRetry(let promise):
      "\(promise) is tried only once because its work has already begun or cannot be repeated; "
        + "call `retry` on a promise made from a closure, before it starts; to retry a step, add "
        + "the retried promise"
    }
  }

  /// Whether two diagnostics have the same description.
  public static func == (one: Diagnostic, other: Diagnostic) -> Bool {
    // Compares descriptions, because errors need not be equatable.
    one.description == other.description
  }

  /// Hashes the description.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(description)
  }
}

/// A handler that receives diagnostics.
///
/// The default handler prints each diagnostic as a line to standard error. Set ``shared`` to
/// replace it, or pass a handler to a manager:
///
/// ```swift
/// let logging = DiagnosticHandler { log.warning("\($0)") }
/// let manager = PromiseManager(diagnostics: logging)
/// ```
public struct DiagnosticHandler: Sendable {
  /// Prints each diagnostic as a line to standard error.
  ///
  /// ```swift
  /// let loud = PromiseManager(diagnostics: .standardError)
  /// ```
  public static let standardError = DiagnosticHandler { diagnostic in
    let line = Array("SerialPromises: \(diagnostic)\n".utf8)
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// Discards all diagnostics.
  ///
  /// ```swift
  /// let careless = PromiseManager(diagnostics: .silent)
  /// ```
  public static let silent = DiagnosticHandler { _ in }

  private static let current = Locked(DiagnosticHandler.standardError)

  /// The handler for managers and promises without a handler of their own.
  ///
  /// Safe to read and set on any thread.
  ///
  /// ```swift
  /// DiagnosticHandler.shared = DiagnosticHandler { log.warning("\($0)") }
  /// ```
  public static var shared: DiagnosticHandler {
    get { current.withLock { $0 } }
    set {
      // Swapped, so that the old closure is released after the lock.
      var handler = newValue
      current.withLock { swap(&$0, &handler) }
      withExtendedLifetime(handler) {}
    }
  }

  /// Reports a diagnostic.
  ///
  /// ```swift
  /// let both = DiagnosticHandler { diagnostic in
  ///   log.warning("\(diagnostic)")
  ///   DiagnosticHandler.silent.report(diagnostic)
  /// }
  /// ```
  public let report: @Sendable (Diagnostic) -> Void

  /// Reports a wait that blocks what it waits for or, without a timeout, stops the program.
  func reportBlockingWait(_ timeout: Duration?, _ text: String) {
    // Not `preconditionFailure`: release builds omit its message.
    guard let timeout else { fatalError(text) }
    // With a timeout of 0, nothing is waited for.
    if timeout > .zero { report(.blockingWait(text)) }
  }

  /// Creates a handler from a closure.
  ///
  /// ```swift
  /// let both = DiagnosticHandler { diagnostic in
  ///   log.warning("\(diagnostic)")
  ///   DiagnosticHandler.silent.report(diagnostic)
  /// }
  /// ```
  ///
  /// - Parameter report: Receives each diagnostic, on the thread of the misuse, without locks held.
  public init(_ report: @escaping @Sendable (Diagnostic) -> Void) {
    self.report = report
  }
}
