import SerialqCLI
import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

/// Compares the order of the waiting jobs with a plain array.
@Suite struct OrderTests {
  private let now = Timestamp(microseconds: 5)

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

  // Fails when a link is not updated in one of the cases: leave out the neighbor before it.
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
        var new = newJob(queue.nextID)
        new.place = place
        queue.apply(.added(new))
        naive.put(new.id, place)
      case 3:
        guard let id = naive.waiting.randomElement(using: &generator), id != other else { continue }
        queue.apply(.moved(id: id, at: now, place: place))
        naive.waiting.removeAll { $0 == id }
        naive.put(id, place)
      case 4:
        guard let id = naive.waiting.randomElement(using: &generator) else { continue }
        queue.apply(.cancelled(id: id, at: now))
        naive.end(id)
      case 5:
        guard let id = naive.waiting.first else { continue }
        let attempt = (queue.job(id)?.run?.attempt ?? 0) + 1
        queue.apply(.started(id: id, attempt: attempt, at: now, boot: []))
        queue.apply(.ended(id: id, at: now, duration: 1, how: .exited(1), cause: .itself))
        naive.end(id)
      default:
        guard let id = naive.over.randomElement(using: &generator) else { continue }
        let attempts = queue.job(id)?.run?.attempt ?? 0
        queue.apply(.retried(Retry(id: id, at: now, attempts: attempts, place: place)))
        naive.over.removeAll { $0 == id }
        naive.put(id, place)
      }
      #expect(queue.waiting.map(\.id) == naive.waiting)
      #expect(queue.firstWaiting?.id == naive.waiting.first)
    }
  }

  // Fails when a position is searched for along the list: a hundred thousand moves would take
  // hours.
  @Test("A hundred thousand jobs are moved to the front, one by one")
  func many() {
    var queue = Queue()
    let count = 100_000 / ease
    for id in 1...count { queue.apply(added(id)) }
    for id in 1...count { queue.apply(.moved(id: id, at: now, place: .first)) }
    #expect(queue.waiting.map(\.id) == (1...count).reversed())
    #expect(queue.waiting(after: 2)?.id == 1)
  }

  // Fails when a batch at the front is inserted job by job: its order would be reversed.
  @Test("A job whose neighbor no longer waits is still added, at the front")
  func lostNeighbor() {
    var queue = Queue()
    queue.apply(added(1))
    var new = newJob(2)
    new.place = .after(9)
    queue.apply(.added(new))
    #expect(queue.waiting.map(\.id) == [2, 1])
    let isMoved = queue.apply(.moved(id: 2, at: now, place: .before(9)))
    #expect(!isMoved)
    #expect(queue.waiting.map(\.id) == [2, 1])
  }
}
