@testable import SerialPromises

extension PromiseManager {
  /// The number of segments of the queue.
  var segmentCount: Int {
    order.withLock { order in
      var count = 0
      var segment = order.queue.head
      while let current = segment {
        count += 1
        segment = current.next
      }
      return count
    }
  }

  /// Adds a step whose caller waits for room; `admitted` receives whether it got some.
  func park(
    _ handler: @escaping Promisable.Handler, _ admitted: @escaping @Sendable (Bool) -> Void
  ) -> StepHandle? {
    let admission = order.transition {
      $0.addWhenRoom(
        Work(handler), StepRecord(order), lock: order, owner: nil, admitted: admitted)
    }
    guard case .entered(let record, let id, _) = admission else { return nil }
    return StepHandle(record: record, id: id)
  }
}
