import SerialqSystem
@testable import SerialqQueue

/// The result of replaying a text.
struct Replayed {
  var queue = Queue()
  var damaged: [DamagedLine] = []
  var committed: Int64 = 0

  init(_ text: Bytes) throws {
    var replay = Replay()
    try text.withUnsafeBufferPointer { text in
      var start = 0
      var end = 0
      while end < text.count {
        guard text[end] == UInt8(ascii: "\n") else {
          end += 1
          continue
        }
        let next = try replay.take(UnsafeBufferPointer(rebasing: text[start..<end])) { item in
          switch item {
          case .record(let record): queue.apply(record)
          case .damaged(let line):
            queue.skipID()
            damaged.append(line)
          }
        }
        start = next == .following ? end + 1 : Int(replay.committed)
        end = start
      }
    }
    committed = replay.committed
  }
}

extension Queue {
  /// Whether all derived state matches the jobs.
  var isConsistent: Bool {
    let ids = waiting.map(\.id)
    let unplaced = waiting.filter { !$0.isPlaced }.map(\.id)
    return JobState.allCases.allSatisfy { state in
      count(state) == jobs.count { $0.state == state }
    }
      && ids.sorted() == jobs.filter { $0.state == .waiting }.map(\.id)
      && unplaced == unplaced.sorted() && Set(ids).count == ids.count
      && Set(running) == Set(jobs.filter { $0.state == .running }.map(\.id))
      && Set(running).count == running.count
      && jobs.map(\.id) == jobs.map(\.id).sorted() && nextID > jobs.last?.id ?? 0
      && openCount == jobs.count(where: \.isOpen)
      && jobs.allSatisfy { !$0.isAcknowledged || $0.state.opens }
  }
}
