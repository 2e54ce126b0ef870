/// The callers that wait for a condition of the order.
///
/// There is a line for each condition, so that waking takes time proportional to the number of
/// woken callers.
struct Waiters {
  /// The awaited condition.
  enum Condition: Hashable, Sendable {
    /// No step runs or waits.
    case idle
    /// No step runs or is about to start.
    case atRest
    /// Fewer steps wait than the limit.
    case waitingBelow(Int)

    fileprivate var isLimit: Bool { if case .waitingBelow = self { true } else { false } }
  }

  /// Identifies a waiting caller, for its removal.
  struct Ticket: Sendable {
    fileprivate let condition: Condition
    fileprivate let number: Int
  }

  typealias Wake = @Sendable () -> Void

  /// Contains no empty lines.
  private var lines: [Condition: Line] = [:]
  private var lastNumber = 0

  /// The number of lines with a `waitingBelow` condition.
  private var limitCount = 0

  var isEmpty: Bool { lines.isEmpty }

  /// Whether a caller waits for a `waitingBelow` condition.
  var haveLimits: Bool { limitCount > 0 }

  mutating func add(_ condition: Condition, _ wake: @escaping Wake) -> Ticket {
    lastNumber += 1
    if condition.isLimit, lines[condition] == nil { limitCount += 1 }
    lines[condition, default: Line()].append(lastNumber, wake)
    return Ticket(condition: condition, number: lastNumber)
  }

  /// Removes the callers that wait for a condition, in the order of arrival.
  mutating func takeAll(_ condition: Condition) -> [Wake] {
    guard let line = lines.removeValue(forKey: condition) else { return [] }
    if condition.isLimit { limitCount -= 1 }
    return line.all
  }

  /// Removes a caller, unless it has been woken.
  mutating func remove(_ ticket: Ticket) -> Wake? {
    guard let wake = lines[ticket.condition]?.remove(ticket.number) else { return nil }
    if lines[ticket.condition]?.isEmpty == true { _ = takeAll(ticket.condition) }
    return wake
  }

  /// The number of callers that wait for a condition.
  func count(_ condition: Condition) -> Int { lines[condition]?.count ?? 0 }
}

/// The callers that wait for the same condition, in the order of arrival.
private struct Line {
  /// Sorted by number.
  ///
  /// The callback is nil after removal.
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
    // Keeps the removed entries in the minority, because each search passes over them.
    if leftCount > entries.count / 2 {
      entries.removeAll { $0.wake == nil }
      leftCount = 0
    }
    return wake
  }
}
