/// The number of waiting tasks of each priority.
///
/// Takes constant time: there are few priorities.
struct Priorities {
  /// Ascending; contains no level without a task.
  private var levels: [(priority: UInt8, count: Int)] = []

  /// The highest priority; 0 if no task waits.
  private(set) var highest: UInt8 = 0

  /// Counts a task, unless its priority is 0.
  mutating func add(_ priority: UInt8) {
    guard priority > 0 else { return }
    if let index = levels.lastIndex(where: { $0.priority <= priority }) {
      if levels[index].priority == priority {
        levels[index].count += 1
      } else {
        levels.insert((priority, 1), at: index + 1)
      }
    } else {
      levels.insert((priority, 1), at: 0)
    }
    highest = max(highest, priority)
  }

  /// Ends the count of a task, unless its priority is 0.
  mutating func remove(_ priority: UInt8) {
    guard priority > 0, let index = levels.lastIndex(where: { $0.priority == priority }) else {
      return
    }
    levels[index].count -= 1
    guard levels[index].count == 0 else { return }
    levels.remove(at: index)
    highest = levels.last?.priority ?? 0
  }
}
