/// Objects of one kind that another one is made of, to any depth.
///
/// Constant until the owner's `deinit`, which releases all levels without recursion.
struct Parts<Part: AnyObject & Sendable>: Sendable {
  private let parts: Locked<[Part]>

  init(_ parts: [Part]) {
    self.parts = Locked(parts)
  }

  var all: [Part] { parts.withLock { $0 } }

  func take() -> [Part] {
    parts.withLock { parts in
      defer { parts = [] }
      return parts
    }
  }

  /// Releases the parts.
  ///
  /// - Parameter takeParts: Removes the parts of a part that has no other owner.
  func release(_ takeParts: (Part) -> [Part]) {
    var rest = take()
    while var part = rest.popLast() {
      if isKnownUniquelyReferenced(&part) { rest += takeParts(part) }
    }
  }
}
