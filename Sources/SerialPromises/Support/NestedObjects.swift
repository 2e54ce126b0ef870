/// Objects that another one of the same kind consists of, to any depth.
///
/// Constant until the owner's `deinit`, which releases all levels without recursion.
struct NestedObjects<Object: AnyObject & Sendable>: Sendable {
  private let objects: Locked<[Object]>

  init(_ objects: [Object]) {
    self.objects = Locked(objects)
  }

  func take() -> [Object] {
    objects.withLock { objects in
      defer { objects = [] }
      return objects
    }
  }

  /// Releases the objects.
  ///
  /// - Parameter takeNested: Removes the nested objects of one that has no other owner.
  func release(_ takeNested: (Object) -> [Object]) {
    var rest = take()
    while var object = rest.popLast() {
      if isKnownUniquelyReferenced(&object) { rest += takeNested(object) }
    }
  }
}
