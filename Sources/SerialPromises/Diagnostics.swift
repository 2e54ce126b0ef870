#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A mistake in the use of the library that changed nothing but should be known.
public enum Diagnostic: Sendable, Hashable, CustomStringConvertible {
  /// `then` was called a second time. Only the first call counted.
  case thenCalledAgain(StepIdentity)

  /// `then` was called after the step had been ended without it, by a grace period.
  case thenCalledLate(StepIdentity)

  /// A step was not taken, and whoever added it may not have looked at the handle.
  case refused(PromiseError)

  /// A step awaited its own manager. The call returned at once instead of waiting for ever.
  case selfWait(StepIdentity)

  /// A progress that fell or was outside 0…1 was ignored.
  case progressIgnored(StepIdentity, current: Double, reported: Double)

  /// What happened, what it changed, and what to do about it.
  public var description: String {
    switch self {
    case .thenCalledAgain(let step):
      "\(step) called `then` again; the first call counted, this one changed nothing"
    case .thenCalledLate(let step):
      "\(step) called `then` after its grace period had ended it; the call changed nothing"
    case .refused(let error):
      "a step was refused and will not run: \(error)"
    case .selfWait(let step):
      "\(PromiseError.selfWait(step))"
    case .progressIgnored(let step, let current, let reported):
      "\(step) reported progress \(reported) after \(current); it rises, from 0 to 1: ignored"
    }
  }
}

/// Where diagnostics go.
///
/// By default each is a line on standard error. Set ``shared`` to send them elsewhere, or give a
/// manager a place of its own:
///
/// ```swift
/// let manager = PromiseManager(diagnostics: Diagnostics { log.warning("\($0)") })
/// ```
public struct Diagnostics: Sendable {
  /// One line on standard error for each diagnostic.
  public static let standardError = Diagnostics { diagnostic in
    let line = Array("SerialPromises: \(diagnostic)\n".utf8)
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }

  /// Reports nothing.
  public static let silent = Diagnostics { _ in }

  private static let current = Locked(Diagnostics.standardError)

  /// Where diagnostics go that no manager has its own place for.
  ///
  /// Any thread may read or set it.
  public static var shared: Diagnostics {
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
  public let report: @Sendable (Diagnostic) -> Void

  /// Makes a place for diagnostics.
  ///
  /// - Parameter report: Called on the thread that made the mistake, with no lock held.
  public init(_ report: @escaping @Sendable (Diagnostic) -> Void) {
    self.report = report
  }
}
