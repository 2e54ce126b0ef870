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
}
