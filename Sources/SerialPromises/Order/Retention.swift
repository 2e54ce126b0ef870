/// Retains the manager from the claim until the queue is at rest, unless the task of a turn does.
///
/// A key's manager is retained at rest, too, while it knows what a new one would not: that it is
/// paused or was closed for itself, and its waiting steps.
struct Retention {
  private(set) var manager: (any StepRunner)?

  /// Objects that are released with a key's manager; empty for other managers.
  private var companions: [AnyObject] = []

  /// Whether the manager of a key was closed for itself.
  private var staysClosed = false

  /// Whether this is the manager of a key.
  var isOfKey: Bool { !companions.isEmpty }

  /// Whether the manager is retained at rest.
  func lasts(whilePaused isPaused: Bool, waiting: Int) -> Bool {
    isOfKey && (isPaused || waiting > 0 || staysClosed)
  }

  mutating func retain(_ manager: (any StepRunner)?) { self.manager = manager }

  /// Ends the retention.
  ///
  /// - Returns: The manager, to release after the lock is released.
  mutating func end() -> (any StepRunner)? { manager.take() }

  /// Retains an object as long as the manager, which is a key's manager from now on.
  mutating func accompany(_ companion: AnyObject) { companions.append(companion) }

  /// Removes a companion, or all.
  ///
  /// - Returns: Those there were, to release after the lock is released.
  mutating func removeCompanions(_ companion: ObjectIdentifier? = nil) -> [AnyObject] {
    defer { companions.removeAll { companion == nil || ObjectIdentifier($0) == companion } }
    return companions
  }

  /// Keeps a key's manager, which was closed for itself.
  mutating func stayClosed(_ manager: any StepRunner) {
    if isOfKey { (self.manager, staysClosed) = (manager, true) }
  }
}
