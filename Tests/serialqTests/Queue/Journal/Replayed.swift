import SerialqSystem
@testable import SerialqQueue

/// The result of replaying a text.
struct Replayed {
  var queue = Queue()
  var damaged: [DamagedLine] = []
  var committed = JournalPosition()

  init(_ text: Bytes) throws {
    var (replay, queue, damaged) = (Replay(), Queue(), [DamagedLine]())
    func take(_ item: Replay.Item) {
      switch item {
      case .record(let record): queue.apply(record)
      case .damaged(let line):
        queue.skipIDs(of: line)
        damaged.append(line)
      }
    }
    try text.withUnsafeBufferPointer { text in
      let pieces = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      for line in pieces.dropLast() { try replay.take(UnsafeBufferPointer(rebasing: line), take) }
      if let rest = pieces.last { replay.takeEnd(UnsafeBufferPointer(rebasing: rest), take) }
    }
    (self.queue, self.damaged) = (queue, damaged)
    committed = replay.committed
  }
}

extension Queue {
  /// Whether all derived state matches the jobs.
  var isConsistent: Bool {
    let ids = waiting.map(\.id)
    let sorted = jobs.filter { $0.state == .waiting }.sorted { ($0.rank, $0.id) < ($1.rank, $1.id) }
    return JobState.allCases.allSatisfy { state in
      count(state) == jobs.count { $0.state == state }
    }
      && ids == sorted.map(\.id) && firstWaiting?.id == ids.first
      && Set(running) == Set(jobs.filter { $0.state == .running }.map(\.id))
      && Set(running).count == running.count
      && jobs.map(\.id) == jobs.map(\.id).sorted() && nextID > jobs.last?.id ?? 0
      && openCount == jobs.count(where: \.isOpen)
      && jobs.allSatisfy { !$0.isAcknowledged || $0.state.opens }
  }
}

extension Journal {
  /// Appends lines in one batch; they are durable on return.
  func append(_ entries: [Entry]) throws(Failure) {
    try locked { (scope) throws(Failure) in try scope.append(entries) }
  }
}
