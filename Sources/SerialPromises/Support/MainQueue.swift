import Dispatch

/// Knows the main queue.
///
/// By a mark that is set on it: on Linux each look at `DispatchQueue.main` gives another object.
enum MainQueue {
  private static let key: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Whether the calling thread works for the main queue.
  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

  /// Whether what is isolated to this actor runs on the main queue.
  static func `is`(_ isolation: (any Actor)?) -> Bool { isolation === MainActor.shared }

  /// Whether this is the main queue.
  static func `is`(_ queue: DispatchQueue?) -> Bool { queue?.getSpecific(key: key) == true }
}
