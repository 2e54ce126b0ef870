/// A first-in, first-out queue with amortized constant-time `append` and `popFirst`.
struct Fifo<Element> {
  /// The oldest element, if it was appended to an empty queue: most have one, which needs no
  /// memory.
  private var first: Element?
  private var rest: [Element?] = []
  private var head = 0

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
}

extension Fifo: Sendable where Element: Sendable {}
