/// A list that needs memory only for its second element.
struct TinyArray<Element> {
  private var first: Element?
  private var rest: [Element] = []

  init() {}

  init(_ first: Element) {
    self.first = first
  }

  mutating func append(_ element: Element) {
    if first == nil { first = element } else { rest.append(element) }
  }

  var isEmpty: Bool { first == nil && rest.isEmpty }

  mutating func popLast() -> Element? {
    rest.popLast() ?? first.take()
  }

  /// Calls `body` for each element, in order.
  func forEach(_ body: (Element) -> Void) {
    if let first { body(first) }
    rest.forEach(body)
  }
}
