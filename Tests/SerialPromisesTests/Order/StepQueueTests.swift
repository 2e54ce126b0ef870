import TestSupport
import Testing

@testable import SerialPromises

/// The storage of the order: segments of slots.
struct StepQueueTests {
  private let lock = Locked(SerialOrder())

  private func append(_ name: String?, to queue: inout StepQueue) {
    var work: Work? = Work { _ in }
    _ = queue.append(&work, name.map { StepRecord(lock, name: $0) }, lock: lock)
  }

  private func filled(_ count: Int) -> StepQueue {
    var queue = StepQueue()
    for _ in 0..<count { append(nil, to: &queue) }
    return queue
  }

  // Fails if `append` starts a segment one slot early or late, or `removePoppedSegment` does not
  // advance the slots of the head.
  @Test(
    "steps keep their ids and slots across segment boundaries",
    arguments: [1, 63, 64, 65, 127, 128, 129, 200])
  func borders(_ count: Int) {
    var (queue, swept) = (StepQueue(), StepQueue())
    for id in 1...count {
      append("\(id)", to: &queue)
      append("\(id)", to: &swept)
    }
    var seen: [Int] = []
    while let (segment, ids) = swept.nextToSweep() {
      seen += ids
      for id in ids { #expect(segment.identity(of: id).name == "\(id)") }
    }
    #expect(seen == Array(1...count))
    var segments = 1
    for id in 1...count {
      while queue.removePoppedSegment() != nil { segments += 1 }
      #expect(queue.first == id)
      #expect(queue.firstSlot.pointee.record?.name == "\(id)")
      queue.endFirst()
    }
    #expect(queue.isEmpty)
    #expect(segments == (count + 63) / 64)
  }

  // Fails if a queue that has been emptied up to the end of a segment treats its spent segment as
  // one with room.
  @Test("a queue that is emptied at a boundary continues behind it")
  func emptiedAtABorder() {
    var queue = StepQueue()
    for id in 1...300 {
      append("\(id)", to: &queue)
      while queue.removePoppedSegment() != nil {}
      #expect(queue.firstSlot.pointee.record?.name == "\(id)")
      queue.endFirst()
      #expect(queue.isEmpty)
    }
    while queue.removeSegment() != nil {}
  }

  // Fails if a segment that becomes the first again begins with slots that were passed already.
  @Test("a queue continues at its old position when a step that was added first has ended")
  func continues() {
    var queue = filled(10)
    for _ in 1...3 { queue.endFirst() }
    var work: Work? = Work { _ in }
    let record = queue.append(&work, StepRecord(lock), lock: lock)
    guard let segment = record.segment else { return #expect(Bool(false)) }
    _ = queue.move(11, in: segment, to: .first(isRunning: false))
    #expect(queue.first == 11)
    queue.endFirst()
    #expect(queue.removePoppedSegment() != nil)
    #expect(queue.first == 4)
    while queue.removeSegment() != nil {}
  }
}

extension StepQueue {
  /// Whether no slot is left, provided that no step was moved.
  fileprivate var isEmpty: Bool { head?.next == nil && first == end }
}
