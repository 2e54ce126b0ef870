/// The callers that wait for a condition of the order.
///
/// The callers of each condition are kept apart, so that waking some takes no time for the others.
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

  private struct Waiter {
    let wake: Wake
    /// The priority of its task; 0 for a thread.
    var priority: UInt8 = 0
  }

  /// The callers by number; contains no empty dictionaries.
  private var lines: [Condition: [Int: Waiter]] = [:]
  private var lastNumber = 0

  /// The tasks that wait for the end of the running step: these callers, those of steps, and those
  /// that wait for room.
  var priorities = Priorities()

  /// The number of lines with a `waitingBelow` condition.
  private(set) var limitCount = 0

  var isEmpty: Bool { lines.isEmpty }

  mutating func add(_ condition: Condition, _ wake: @escaping Wake) -> Ticket {
    lastNumber += 1
    if condition.isLimit, lines[condition] == nil { limitCount += 1 }
    lines[condition, default: [:]][lastNumber] = Waiter(wake: wake)
    return Ticket(condition: condition, number: lastNumber)
  }

  /// Records the priority of a caller's task, unless it has been woken.
  mutating func raise(_ ticket: Ticket, to priority: UInt8) {
    guard let waiter = lines[ticket.condition]?[ticket.number], waiter.priority < priority else {
      return
    }
    priorities.remove(waiter.priority)
    priorities.add(priority)
    lines[ticket.condition]?[ticket.number]?.priority = priority
  }

  /// Wakes the callers that wait for a condition, in the order of arrival.
  @inline(__always)
  mutating func wake(_ condition: Condition, _ effects: inout Effects) {
    if !isEmpty { wakeAll(condition, &effects) }
  }

  /// Wakes callers after the number of waiting steps decreased by one.
  @inline(__always)
  mutating func decreased(to count: Int, _ effects: inout Effects) {
    // One at a time, so only this limit is newly met.
    if limitCount > 0 { wakeAll(.waitingBelow(count + 1), &effects) }
  }

  @inline(never)
  private mutating func wakeAll(_ condition: Condition, _ effects: inout Effects) {
    for wake in takeAll(condition) { effects.call(wake) }
  }

  private mutating func takeAll(_ condition: Condition) -> [Wake] {
    guard let line = lines.removeValue(forKey: condition) else { return [] }
    if condition.isLimit { limitCount -= 1 }
    for waiter in line.values { priorities.remove(waiter.priority) }
    return line.sorted { $0.key < $1.key }.map(\.value.wake)
  }

  /// Removes a caller, unless it has been woken.
  mutating func remove(_ ticket: Ticket) -> Wake? {
    guard let waiter = lines[ticket.condition]?.removeValue(forKey: ticket.number) else {
      return nil
    }
    priorities.remove(waiter.priority)
    if lines[ticket.condition]?.isEmpty == true { _ = takeAll(ticket.condition) }
    return waiter.wake
  }

  /// The number of callers that wait for a condition.
  func count(_ condition: Condition) -> Int { lines[condition]?.count ?? 0 }
}
