/// The locks that all promises share.
///
/// A promise is locked for a few instructions at a time, and together with others only by
/// `withLocks`. A fixed number of locks is therefore enough, and each promise is smaller by the
/// size of a lock.
enum SharedLocks {
  private static let count = 64

  // Never released, so that users need not retain a lock; immutable, so that any thread may read
  // it.
  nonisolated(unsafe) private static let locks: UnsafePointer<Unmanaged<Locked<Void>>> = {
    let locks = UnsafeMutablePointer<Unmanaged<Locked<Void>>>.allocate(capacity: count)
    for index in 0..<count { (locks + index).initialize(to: .passRetained(Locked(()))) }
    return UnsafePointer(locks)
  }()

  /// Holds the lock of an object.
  @inline(__always)
  static func withLock<Result>(for object: AnyObject, _ body: () -> Result) -> Result {
    locks[index(of: object)]._withUnsafeGuaranteedRef { lock in lock.withLock { _ in body() } }
  }

  @inline(__always)
  private static func index(of object: AnyObject) -> Int {
    // Objects are at least 16 bytes apart. Folds the address, because allocations are often evenly
    // spaced.
    let address = UInt(bitPattern: ObjectIdentifier(object))
    return Int((address >> 4 ^ address >> 10) % UInt(count))
  }

  /// Locks several promises at the same time.
  ///
  /// `body` must not lock a promise.
  static func withLocks(for promises: [Core], _ body: () -> Void) {
    withLocks(promises.reduce(0) { $0 | 1 << UInt64(index(of: $1)) }, body)
  }

  // A bit for each lock. The locks are taken in ascending order, so that two threads do not wait
  // for each other.
  private static func withLocks(_ set: UInt64, _ body: () -> Void) {
    guard set != 0 else { return body() }
    locks[set.trailingZeroBitCount]._withUnsafeGuaranteedRef { lock in
      lock.withLock { _ in withLocks(set & (set - 1), body) }
    }
  }
}
