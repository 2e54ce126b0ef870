/// The locks that promises share.
///
/// A promise is locked for a few instructions at a time and never together with another, so a
/// fixed number is enough for any number of promises, and each of these is smaller by a lock.
enum SharedLocks {
  private static let locks = (0..<64).map { _ in Locked(()) }

  static func lock(for object: AnyObject) -> Locked<Void> {
    // Objects are 16 bytes apart at least; folded, because they often lie in regular steps.
    let address = UInt(bitPattern: ObjectIdentifier(object))
    return locks[Int((address >> 4 ^ address >> 10) & 63)]
  }
}
