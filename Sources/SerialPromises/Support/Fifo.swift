/// Elements that leave in the order of entering; both take constant time on average.
struct Fifo<Element> {
  private var elements: [Element?] = []
  private var head = 0

  var isEmpty: Bool { head == elements.count }

  var count: Int { elements.count - head }

  mutating func append(_ element: Element) {
    elements.append(element)
  }

  mutating func popFirst() -> Element? {
    guard head < elements.count else { return nil }
    let element = elements[head].take()
    head += 1
    // Cut off when it is the larger part, so that what is never empty does not grow for ever.
    if head == elements.count {
      elements.removeAll(keepingCapacity: true)
      head = 0
    } else if head > 64, head > elements.count / 2 {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  /// Takes time in proportion to the number of elements.
  mutating func removeAll(where isRemoved: (Element) -> Bool) {
    elements = elements[head...].filter { $0.map { !isRemoved($0) } ?? false }
    head = 0
  }
}

extension Fifo: Sendable where Element: Sendable {}
