/// A first-in, first-out queue that needs memory only for its second element, with amortized
/// constant-time operations.
struct Fifo<Element> {
  private var first: Element?
  private var rest: [Element?] = []
  private var head = 0

  init() {}

  init(_ first: Element) {
    self.first = first
  }

  var isEmpty: Bool { first == nil && head == rest.count }

  var count: Int { (first == nil ? 0 : 1) + rest.count - head }

  mutating func append(_ element: Element) {
    if isEmpty { first = element } else { rest.append(element) }
  }

  mutating func popFirst() -> Element? {
    if let element = first.take() { return element }
    guard head < rest.count else { return nil }
    let element = rest[head].take()
    head += 1
    // Compacts when the consumed part is larger, so that a queue that is never empty does not grow
    // without bound.
    if head == rest.count {
      rest.removeAll(keepingCapacity: true)
      head = 0
    } else if head > 64, head > rest.count / 2 {
      rest.removeFirst(head)
      head = 0
    }
    return element
  }

  /// Removes the newest element.
  mutating func popLast() -> Element? {
    head < rest.count ? rest.removeLast() : first.take()
  }

  /// Calls `body` for each element, in order.
  func forEach(_ body: (Element) -> Void) {
    if let first { body(first) }
    for element in rest[head...] { if let element { body(element) } }
  }
}

extension Fifo: Sendable where Element: Sendable {}
