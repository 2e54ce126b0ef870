import SerialqCLI
import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

/// Compares the order of the waiting jobs with a plain array.
@Suite struct OrderTests {
  /// The expected order, computed in the simplest way.
  private struct Naive {
    var waiting: [JobID] = []
    var over: [JobID] = []

    mutating func put(_ id: JobID, _ place: Place) {
      switch place {
      case .first: waiting.insert(id, at: 0)
      case .last: waiting.append(id)
      case .before(let other):
        waiting.insert(id, at: waiting.firstIndex(of: other) ?? waiting.count)
      case .after(let other):
        waiting.insert(id, at: waiting.firstIndex(of: other).map { $0 + 1 } ?? waiting.count)
      }
    }

    mutating func end(_ id: JobID) {
      waiting.removeAll { $0 == id }
      over.append(id)
    }
  }

  // Fails when a rank is not between those of its neighbors, or an outdated place counts.
  @Test("Adding, moving, ending and retrying produce the same order as an array", arguments: 1...30)
  func reference(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var (queue, naive) = (Queue(), Naive())
    for _ in 0..<500 {
      let other = naive.waiting.randomElement(using: &generator)
      let places: [Place] = [.first, .last] + (other.map { [.before($0), .after($0)] } ?? [])
      let place = places.randomElement(using: &generator) ?? .last
      switch Int.random(in: 0..<7, using: &generator) {
      case 0..<3:
        let id = queue.nextID
        queue.perform(.add(id, order(), place))
        naive.put(id, place)
      case 3:
        guard let id = naive.waiting.randomElement(using: &generator), id != other else { continue }
        queue.perform(.move([id], place))
        naive.waiting.removeAll { $0 == id }
        naive.put(id, place)
      case 4:
        guard let id = naive.waiting.randomElement(using: &generator) else { continue }
        queue.perform(.cancel([id]))
        naive.end(id)
      case 5:
        guard let id = naive.waiting.first else { continue }
        queue.perform(.start(id), .end(id, .exited(1)))
        naive.end(id)
      default:
        guard let id = naive.over.randomElement(using: &generator) else { continue }
        queue.perform(.retry([id]), .move([id], place))
        naive.over.removeAll { $0 == id }
        naive.put(id, place)
      }
      #expect(queue.waiting.map(\.id) == naive.waiting)
      #expect(queue.firstWaiting?.id == naive.waiting.first)
    }
  }

  // Fails when a place is searched for along the list, or each insertion moves all others: a hundred
  // thousand moves would take hours.
  @Test("A hundred thousand jobs are moved to the front, one by one")
  func many() {
    var queue = Queue()
    let count = 100_000 / ease
    for id in 1...count { queue.apply(added(id)) }
    for id in 1...count {
      guard let job = queue.job(id), let rank = queue.rank(.first) else { continue }
      if let run = job.run.moved(to: rank) { queue.apply(.run(id, run)) }
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

  // Fails when a job is placed next to one that no longer waits.
  @Test("A job whose neighbor no longer waits stays where it is")
  func lostNeighbor() {
    var queue = queue(.add(1), .add(2), .add(3), .cancel([3]))
    queue.perform(.move([2], .before(9)), .move([1], .after(3)))
    #expect(queue.waiting.map(\.id) == [1, 2])
  }
}
