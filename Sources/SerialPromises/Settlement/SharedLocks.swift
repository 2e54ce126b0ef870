/// The locks that promises share.
///
/// A promise is locked for a few instructions at a time and never together with another, so a
/// fixed number is enough for any number of promises, and each of these is smaller by a lock.
enum SharedLocks {
  private static let count = 64

  // Never released, so that nobody has to hold one while using it; and never changed, which is why
  // any thread may read it.
  nonisolated(unsafe) private static let locks: UnsafePointer<Unmanaged<Locked<Void>>> = {
    let locks = UnsafeMutablePointer<Unmanaged<Locked<Void>>>.allocate(capacity: count)
    for index in 0..<count { (locks + index).initialize(to: .passRetained(Locked(()))) }
    return UnsafePointer(locks)
  }()

  @inline(__always)
  static func lock(for object: AnyObject) -> Unmanaged<Locked<Void>> {
    // Objects are 16 bytes apart at least; folded, because they often lie in regular steps.
    let address = UInt(bitPattern: ObjectIdentifier(object))
    return locks[Int((address >> 4 ^ address >> 10) % UInt(count))]
  }
}
