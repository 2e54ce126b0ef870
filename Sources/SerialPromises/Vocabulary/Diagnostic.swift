#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A mistake in the use of the library that changed nothing but should be known.
///
/// ```swift
/// let failures = DiagnosticHandler { diagnostic in
///   guard case .unhandledFailure(let promise, let error) = diagnostic else { return }
///   log.warning("\(promise): \(error)")
/// }
/// ```
public enum Diagnostic: Sendable, Hashable, CustomStringConvertible {
  /// `then` was called a second time. Only the first call counted.
  case thenCalledAgain(StepIdentity)

  /// `then` was called after a grace period or a time limit had ended the step without it.
  ///
  /// Not reported of asynchronous work and promises that were canceled.
  case thenCalledLate(StepIdentity)

  /// A step was not taken, and whoever added it may not have looked at the handle.
  case refused(PromiseError)

  /// A step awaited its own manager. The call returned immediately instead of deadlocking.
  case deadlock(StepIdentity)

  /// A progress that fell or was outside 0…1 was ignored.
  case progressIgnored(StepIdentity, current: Double, reported: Double)

  /// A progress that fell, was over 1 or came after the end was ignored.
  case promiseProgressIgnored(PromiseIdentity, current: Double, reported: Double)

  /// A promise was fulfilled or failed when it was settled already, or resolved with another.
  case settledAgain(PromiseIdentity)

  /// A promise failed, went away, and nobody had looked at the error.
  case unhandledFailure(PromiseIdentity, any Error)

  /// A cold promise went away, nothing had ever demanded it, and handlers waited for it: they never
  /// run.
  ///
  /// Reported once for a cold promise and all that was made from it, when the last of them is
  /// released, if a callback (`fulfilled`, `failed` or `progressed`) was attached to one of them, or
  /// a chain ended with `catch` or `finally`. Nothing is reported of a promise that was cancelled, of
  /// one that a combination had waited for and needs no longer, or of a chain without such a handler.
  /// Handlers of a combination that another promise can still settle run when that does; if it does
  /// not settle the combination, it is reported then, by the place where it was made.
  case neverStarted(PromiseIdentity)

  /// A promise that cannot begin again was to be retried: its work has begun already.
  case cannotRetry(PromiseIdentity)

  /// What happened, what it changed, and what to do about it.
  public var description: String {
    switch self {
    case .thenCalledAgain(let step):
      """
      \(step) called `then` again; only the first call counts; \
      call it once on each path
      """
    case .thenCalledLate(let step):
      """
      \(step) called `then` after a time limit or a grace period ended it; the call has no effect, \
      but its work may have overlapped with the next step; stop it in `onCancel`, or limit it \
      with `timeout(_:waitsForThen: true)`
      """
    case .refused(let error):
      "a step was refused and will not run: \(error)"
    case .deadlock(let step):
      "\(PromiseError.deadlock(step))"
    case .progressIgnored(let step, let current, let reported):
      "\(step) reported progress \(reported) after \(current); ignored, progress rises from 0 to 1"
    case .promiseProgressIgnored(let promise, let current, let reported):
      """
      \(promise) reported progress \(reported) after \(current); ignored, progress rises from 0 to 1 \
      until the promise is settled
      """
    case .settledAgain(let promise):
      """
      \(promise) was settled again; only the first time counts; \
      settle it once, or use `tryFulfill` and `tryFail` where callers race
      """
    case .unhandledFailure(let promise, let error):
      "\(promise) failed and the error was not handled: \(error); end the chain with `catch`"
    case .neverStarted(let promise):
      """
      \(promise) was never started, so its handlers never run; call `start()`, await its `value`, \
      or add it to a manager
      """
    case .cannotRetry(let promise):
      """
      \(promise) is tried only once because its work has already begun; \
      call `retry` on a promise made from a closure, before it starts
      """
    }
  }

  /// Whether two diagnostics say the same.
  public static func == (one: Diagnostic, other: Diagnostic) -> Bool {
    // Errors need not be comparable; what they say is.
    one.description == other.description
  }

  /// Hashes what the diagnostic says.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(description)
  }
}

/// Where diagnostics go.
///
/// By default each is a line on standard error. Set ``shared`` to send them elsewhere, or give a
/// manager a place of its own:
///
/// ```swift
/// let manager = PromiseManager(diagnostics: DiagnosticHandler { log.warning("\($0)") })
/// ```
public struct DiagnosticHandler: Sendable {
  /// One line on standard error for each diagnostic.
  ///
  /// ```swift
  /// let loud = PromiseManager(diagnostics: .standardError)
  /// ```
  public static let standardError = DiagnosticHandler { diagnostic in
    let line = Array("SerialPromises: \(diagnostic)\n".utf8)
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// Reports nothing.
  ///
  /// ```swift
  /// let careless = PromiseManager(diagnostics: .silent)
  /// ```
  public static let silent = DiagnosticHandler { _ in }

  private static let current = Locked(DiagnosticHandler.standardError)

  /// Where diagnostics go that no manager or promise has its own handler for.
  ///
  /// Any thread may read or set it.
  ///
  /// ```swift
  /// DiagnosticHandler.shared = DiagnosticHandler { diagnostic in log.warning("\(diagnostic)") }
  /// ```
  public static var shared: DiagnosticHandler {
    get { current.withLock { $0 } }
    set {
      // Exchanged, not assigned: the old closure must be released after the lock.
      let old = current.withLock { place in
        let old = place
        place = newValue
        return old
      }
      withExtendedLifetime(old) {}
    }
  }

  /// Hands a diagnostic on.
  ///
  /// ```swift
  /// let both = DiagnosticHandler { diagnostic in
  ///   log.warning("\(diagnostic)")
  ///   DiagnosticHandler.silent.report(diagnostic)
  /// }
  /// ```
  public let report: @Sendable (Diagnostic) -> Void

  /// Makes a place for diagnostics.
  ///
  /// ```swift
  /// let both = DiagnosticHandler { diagnostic in
  ///   log.warning("\(diagnostic)")
  ///   DiagnosticHandler.silent.report(diagnostic)
  /// }
  /// ```
  ///
  /// - Parameter report: Called on the thread that made the mistake, with no lock held.
  public init(_ report: @escaping @Sendable (Diagnostic) -> Void) {
    self.report = report
  }
}
