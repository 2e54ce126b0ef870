import SerialqSystem
import TestSupport
import Testing

@testable import SerialqQueue

/// Jobs that run only if others succeeded.
@Suite struct RequirementTests {
  private let now = moment()

  // Fails when the jobs of a range are searched one by one: this would take minutes.
  @Test("Ten thousand jobs that require all lower ones are put in order")
  func many() {
    let count = 10_000 / ease
    var queue = Queue()
    for id in 1...count {
      let limits = Limits(after: id == 1 ? [] : [1...id - 1])
      queue.apply(.job(id, spec("true", JobSpec.Details(limits: limits))))
      if let status = JobStatus().moved(to: .first(1, upTo: id)) {
        queue.apply(.status(id, status))
      }
    }
    var changes = QueueChanges(queue)
    changes.putInOrder()
    queue = changes.queue
    #expect(queue.waiting.map(\.id) == Array(1...count))
  }

  // Fails when a command puts a job before one that it requires, or a result is lost.
  @Test(
    "Whatever commands are used, each job runs after those it requires, or is skipped",
    arguments: 1...(isLong ? 40 : 20))
  func anyCommands(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var simulation = Simulation(now: now)
    for _ in 0..<200 { try simulation.act(&generator) }
    while simulation.takeTurn(&generator) {}
    #expect(simulation.queue.count(.waiting) == 0)
  }

  /// A queue, and the result of every job in an array that forgets nothing.
  private struct Simulation {
    let now: ClockReading
    var queue = Queue()
    var results: [JobID: Bool] = [:]
    /// What each job was added with.
    var required: [JobID: [JobID]] = [:]

    init(now: ClockReading) { self.now = now }

    mutating func act(_ generator: inout SeededGenerator) throws {
      let any = queue.jobs.randomElement(using: &generator)
      switch Int.random(in: 0..<9, using: &generator) {
      case 0..<3:
        let id = queue.nextID
        let ids = queue.jobs.map(\.id).filter { _ in Int.random(in: 0..<4, using: &generator) == 0 }
        required[id] = ids
        var changes = QueueChanges(queue, [added(id, after: ids)])
        if Bool.random(using: &generator) { changes.move([id], to: .first) }
        changes.putInOrder()
        queue = changes.queue
      case 3:
        let other = Array(queue.waiting).randomElement(using: &generator)
        guard let any, let other, any.id != other.id else { return }
        var changes = QueueChanges(queue)
        changes.move([any.id], to: .before(other.id))
        if changes.queue.misplaced == nil { queue = changes.queue }
      case 4:
        guard let any, any.state.isOver else { return }
        queue.perform(.retry([any.id], first: .random(using: &generator)))
        results[any.id] = nil
      case 5:
        guard let any, any.state == .waiting else { return }
        queue.perform(.cancel([any.id]))
        results[any.id] = false
      case 6:
        guard let any, any.state.isOver else { return }
        queue.perform(.forget(any.id...any.id))
        #expect(try queue.compacted().jobs == queue.jobs)
      default: _ = takeTurn(&generator)
      }
      #expect(queue.misplaced == nil)
    }

    mutating func takeTurn(_ generator: inout SeededGenerator) -> Bool {
      switch queue.next(now: now) {
      case .run(let job):
        let isFree = job.waiting?.isFree == true
        let isMet = (required[job.id] ?? []).allSatisfy { results[$0] == true }
        #expect(isFree || isMet, "job \(job.id)")
        let succeeds = Int.random(in: 0..<4, using: &generator) > 0
        queue.perform(.start(job.id), .end(job.id, .exited(succeeds ? 0 : 1)))
        results[job.id] = succeeds
      case .skip(let job, let because):
        let isMet = (required[job.id] ?? []).allSatisfy { results[$0] == true }
        // None of them waits at this time.
        #expect(!isMet && required[job.id]?.allSatisfy { results[$0] != nil } == true)
        queue.perform(.skip(job.id, because: because))
        results[job.id] = false
      case .later, .nothing: return false
      }
      return true
    }
  }
}
