import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

/// Ranks in a queue of many jobs; `ModelTests` compares the order with a plain array.
@Suite struct OrderTests {
  // Fails when a place is searched for along the list, or each insertion moves all others: a
  // hundred thousand moves would take hours.
  @Test("A hundred thousand jobs are moved to the front, one by one")
  func many() {
    var queue = Queue()
    let count = 100_000 / ease
    for id in 1...count { queue.apply(added(id)) }
    for id in 1...count {
      guard let job = queue.job(id), let rank = queue.rank(.first) else { continue }
      if let status = job.status.moved(to: rank) { queue.apply(.status(id, status)) }
    }
    #expect(queue.waiting.map(\.id) == (1...count).reversed())
    #expect(queue.waiting(after: 2)?.id == 1)
  }

  // Fails when ranks run out of digits, or grow with each move to the same place.
  @Test("Any number of jobs are moved to the same place, by short ranks", arguments: [false, true])
  func samePlace(isBefore: Bool) {
    var queue = Queue()
    for id in 1...2_002 { queue.apply(added(id)) }
    for id in 3...2_002 { queue.perform(.move([id], isBefore ? .before(2) : .after(1))) }
    let between = isBefore ? Array(3...2_002) : Array((3...2_002).reversed())
    #expect(queue.waiting.map(\.id) == [1] + between + [2])
    #expect(queue.jobs.allSatisfy { $0.rank.text.count <= 12 })
  }

  // Fails when a rank grows with each move between those that were moved before.
  @Test("A thousand moves between the last two that were moved need ranks of less than 1 KB")
  func zigzag() {
    var queue = Queue()
    for id in 1...4 { queue.apply(added(id)) }
    for number in 0..<1_000 {
      let order = queue.waiting.map(\.id)
      queue.perform(.move([order[2]], .after(order[number % 2])))
    }
    let longest = queue.jobs.map(\.rank.text.count).max()
    #expect(longest ?? 0 < 1_000)
  }

  // Fails when a rank of many digits does not read back, or none is found between two others.
  @Test("There is a rank between any two, and all read back", arguments: 1...20)
  func between(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var ranks = [Rank(1), Rank(2)]
    for _ in 0..<200 {
      let place = Int.random(in: 1..<ranks.count, using: &generator)
      let new = Rank.between(
        ranks[place - 1], ranks[place], isCloseToUpper: .random(using: &generator))
      try #require(ranks[place - 1] < new && new < ranks[place])
      try #require(Rank(new.text) == new)
      ranks.insert(new, at: place)
    }
  }
}
