import Dispatch
import Synchronization

/// Knows the main queue.
///
/// By a mark that is set on it: on Linux each look at `DispatchQueue.main` gives another object.
enum MainQueue {
  private static let key: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Whether the work of any promise has ever had to run there: most programs that block their main
  /// thread have none, and need not look for it.
  static let isUsed = Atomic(false)

  /// Whether the calling thread works for the main queue.
  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

  /// Whether what is isolated to this actor runs on the main queue.
  static func `is`(_ isolation: (any Actor)?) -> Bool { isolation === MainActor.shared }

  /// Whether this is the main queue.
  static func `is`(_ queue: DispatchQueue?) -> Bool { queue?.getSpecific(key: key) == true }
}
