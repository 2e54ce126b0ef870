import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

/// The keys of calls of `add` from other machines.
@Suite struct AddKeysTests {
  private func key(_ number: Int) -> Bytes { Bytes("key\(number)".utf8) }

  // Fails if a repeated call finds no jobs, or others than the first one added.
  @Test("a key keeps the jobs of its first call")
  func first() {
    var queue = Queue()
    queue.apply(.added([3, 4, 7], byCall: key(1)))
    let isNews = queue.apply(.added([9], byCall: key(1)))
    #expect(!isNews)
    #expect(queue.addKeys.ids(of: key(1)) == [3...4, 7...7])
    #expect(queue.addKeys.ids(of: key(2)) == nil)
  }

  // Fails if the keys grow without limit, or the newest are forgotten.
  @Test("the latest thousand keys are kept")
  func latest() {
    var queue = Queue()
    for number in 1...AddKeys.most + 10 { queue.apply(.added([number], byCall: key(number))) }
    #expect(queue.addKeys.entries.count == AddKeys.most)
    #expect(queue.addKeys.ids(of: key(10)) == nil)
    #expect(queue.addKeys.ids(of: key(11)) == [11...11])
    #expect(queue.addKeys.ids(of: key(AddKeys.most + 10)) != nil)
  }

  // Fails if compaction forgets a key, or keeps rewriting a journal that is mostly keys.
  @Test("a compacted journal has the same keys")
  func compacted() throws {
    var queue = Queue()
    for number in 1...3 { queue.apply(.added([number], byCall: key(number))) }
    var again = Queue()
    try queue.forEachMinimalEvent { (event) throws(Failure) in again.apply(event) }
    #expect(again.addKeys == queue.addKeys)
  }
}
