/// The callers that wait until the order has come to some state.
///
/// Each state has a line of its own, so that waking takes time in proportion to the callers that wake.
struct Waiters {
  /// What is waited for.
  enum Condition: Hashable, Sendable {
    /// Nothing runs and nothing waits.
    case idle
    /// Nothing runs, and nothing is about to begin.
    case atRest
    /// Fewer steps wait than the limit.
    case waitingBelow(Int)

    fileprivate var isLimit: Bool { if case .waitingBelow = self { true } else { false } }
  }

  /// What it takes to leave a line.
  struct Ticket: Sendable {
    fileprivate let condition: Condition
    fileprivate let number: Int
  }

  typealias Wake = @Sendable () -> Void

  /// None of them is empty.
  private var lines: [Condition: Line] = [:]
  private var lastNumber = 0

  /// How many of the lines wait for fewer steps to wait.
  private var limitCount = 0

  var isEmpty: Bool { lines.isEmpty }

  /// Whether any caller waits for fewer steps to wait.
  var haveLimits: Bool { limitCount > 0 }

  mutating func add(_ condition: Condition, _ wake: @escaping Wake) -> Ticket {
    lastNumber += 1
    if condition.isLimit, lines[condition] == nil { limitCount += 1 }
    lines[condition, default: Line()].append(lastNumber, wake)
    return Ticket(condition: condition, number: lastNumber)
  }

  /// Takes out the callers that wait for this, in the order of coming.
  mutating func takeAll(_ condition: Condition) -> [Wake] {
    guard let line = lines.removeValue(forKey: condition) else { return [] }
    if condition.isLimit { limitCount -= 1 }
    return line.all
  }

  /// Takes out one, unless it has been woken.
  mutating func remove(_ ticket: Ticket) -> Wake? {
    guard let wake = lines[ticket.condition]?.remove(ticket.number) else { return nil }
    if lines[ticket.condition]?.isEmpty == true { _ = takeAll(ticket.condition) }
    return wake
  }

  /// How many wait for this.
  func count(_ condition: Condition) -> Int { lines[condition]?.count ?? 0 }
}

/// The callers that wait for the same state, in the order of coming.
private struct Line {
  /// Nil for one that left; numbers rise.
  private var entries: [(number: Int, wake: Waiters.Wake?)] = []
  private var leftCount = 0

  var isEmpty: Bool { leftCount == entries.count }

  var all: [Waiters.Wake] { entries.compactMap(\.wake) }

  var count: Int { entries.count - leftCount }

  mutating func append(_ number: Int, _ wake: @escaping Waiters.Wake) {
    entries.append((number, wake))
  }

  mutating func remove(_ number: Int) -> Waiters.Wake? {
    var range = entries.indices
    while range.count > 1 {
      let middle = range.lowerBound + range.count / 2
      range =
        entries[middle].number <= number ? middle..<range.upperBound : range.lowerBound..<middle
    }
    guard let index = range.first, entries[index].number == number,
      let wake = entries[index].wake.take()
    else { return nil }
    leftCount += 1
    // The entries of callers that left stay the smaller part, or each search would pass over them.
    if leftCount > entries.count / 2 {
      entries.removeAll { $0.wake == nil }
      leftCount = 0
    }
    return wake
  }
}
