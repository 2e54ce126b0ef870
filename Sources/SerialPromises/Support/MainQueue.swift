import Dispatch

/// Identifies the main queue.
///
/// Uses a queue-specific value: on Linux `DispatchQueue.main` returns a new object on each access.
enum MainQueue {
  private static let key: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Whether any step or promise has ever needed the main queue.
  ///
  /// Most programs that block their main thread have none and skip the search for one, which takes
  /// a quarter of the time of each link.
  static let isUsed = Atomic(false)

  /// Whether a wait on this thread could block what needs the main queue.
  static var isBlockedByWait: Bool { isUsed.load(ordering: .relaxed) && isCurrent }

  /// Whether the calling thread executes the main queue.
  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

  /// Whether the actor's executor is the main queue.
  static func `is`(_ isolation: (any Actor)?) -> Bool { isolation === MainActor.shared }

  /// Whether `queue` is the main queue.
  static func `is`(_ queue: DispatchQueue?) -> Bool { queue?.getSpecific(key: key) == true }
}
