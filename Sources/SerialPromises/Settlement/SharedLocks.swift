/// The locks that all promises share.
///
/// A promise is locked for a few instructions at a time, and never together with another. A fixed
/// number of locks is therefore enough, and each promise is smaller by the size of a lock.
enum SharedLocks {
  private static let count = 64

  // Never released, so that users need not retain a lock; immutable, so that any thread may read
  // it.
  nonisolated(unsafe) private static let locks: UnsafePointer<Unmanaged<Locked<Void>>> = {
    let locks = UnsafeMutablePointer<Unmanaged<Locked<Void>>>.allocate(capacity: count)
    for index in 0..<count { (locks + index).initialize(to: .passRetained(Locked(()))) }
    return UnsafePointer(locks)
  }()

  @inline(__always)
  static func lock(for object: AnyObject) -> Unmanaged<Locked<Void>> {
    // Objects are at least 16 bytes apart. Folds the address, because allocations are often evenly
    // spaced.
    let address = UInt(bitPattern: ObjectIdentifier(object))
    return locks[Int((address >> 4 ^ address >> 10) % UInt(count))]
  }
}
