import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Many threads at once, with exact counts at the end.
struct ThreadsTests {
  /// Threads that call the `then`s that they receive, in random order.
  private final class Callers: Sendable {
    private let waiting = Locked<(thens: [Then], isOver: Bool)>(([], false))
    private let wake = DispatchSemaphore(value: 0)
    private let done = Gate()
    private let count: Int

    init(_ count: Int) {
      self.count = count
      onOwnThread { [self] in
        onThreads(count) { self.work(seed: UInt64($0)) }
        done.open()
      }
    }

    func take(_ then: Then) {
      waiting.withLock { $0.thens.append(then) }
      wake.signal()
    }

    /// Returns when all have been called.
    func finish() async {
      waiting.withLock { $0.isOver = true }
      for _ in 0..<count { wake.signal() }
      await done.passed()
    }

    /// Calls until no `then` is left.
    private func work(seed: UInt64) {
      var random = SeededGenerator(seed: seed)
      while true {
        wake.wait()
        let (then, isOver) = waiting.withLock { waiting in
          let index = waiting.thens.indices.randomElement(using: &random)
          return (index.map { waiting.thens.remove(at: $0) }, waiting.isOver)
        }
        if let then { then() } else if isOver { return }
      }
    }
  }

  /// Unguarded state that handlers change: a race shows that they overlap.
  private final class Witness: @unchecked Sendable {
    var inside = 0
    var overlaps = 0
    var lastOfProducer = [Int](repeating: -1, count: 64)
    var outOfOrder = 0
    var count = 0

    func enter(_ producer: Int, _ number: Int) {
      inside += 1
      if inside != 1 { overlaps += 1 }
      if lastOfProducer[producer] != number - 1 { outOfOrder += 1 }
      lastOfProducer[producer] = number
      count += 1
    }

    func leave() { inside -= 1 }
  }

  // Fails if a transition lets two handlers run at the same time, loses a step, runs one twice, or
  // reorders a producer's steps; if a step does not see the writes of the preceding one, which the
  // thread sanitizer reports, too.
  @Test(
    "many producers, and thens called from 4 other threads: no overlap, no loss, in order",
    .shows(Managing.order, Managing.neverTwo, Managing.visibility),
    arguments: isLong ? [(8, 100_000), (64, 156_250)] : [(8, 4_000), (64, 500)])
  func producers(_ producers: Int, _ perProducer: Int) async {
    tally(producers * perProducer)
    let (manager, witness, pool) = (PromiseManager(), Witness(), Callers(4))
    onThreads(producers) { producer in
      for number in 0..<perProducer {
        manager.add { then in
          witness.enter(producer, number)
          witness.leave()
          // Some at once, some on another thread, perhaps while this handler is still on the stack.
          if number % 3 == 0 { then() } else { pool.take(then) }
        }
      }
    }
    await manager.idle()
    await pool.finish()
    let found = [witness.count, witness.overlaps, witness.outOfOrder]
    #expect(found == [producers * perProducer, 0, 0], "steps, overlaps, out of order")
    #expect(witness.lastOfProducer.prefix(producers).allSatisfy { $0 == perProducer - 1 })
    #expect(manager.progress == 1)
  }

  // Fails if two calls from different threads can both take effect, or neither.
  @Test(
    "of thens called from several threads at once exactly one takes effect",
    .shows(Managing.thenOnce))
  func racingThens() async {
    let steps = isLong ? 50_000 : 1_000
    tally(steps)
    let (reports, pool, witness) = (Reports(), Callers(4), Witness())
    let manager = PromiseManager(diagnostics: reports.place)
    for number in 0..<steps {
      manager.add { then in
        witness.enter(0, number)
        witness.leave()
        for _ in 1...3 { pool.take(then) }
      }
    }
    await manager.idle()
    await pool.finish()
    #expect([witness.count, witness.overlaps, reports.all.count] == [steps, 0, 2 * steps])
  }

  // Hangs if a drop that races with the end of the handler is missed.
  @Test(
    "a then that another thread drops at any moment fails its step",
    .shows(Managing.droppedThen))
  func racingDrops() async {
    let steps = isLong ? 50_000 : 2_000
    tally(steps)
    let manager = PromiseManager()
    let queue = DispatchQueue(label: "dropper")
    var handles: [StepHandle] = []
    for _ in 0..<steps {
      handles.append(
        manager.add { then in
          queue.async { withExtendedLifetime(then) {} }
        })
    }
    await manager.idle()
    for handle in handles {
      let error = PromiseError.abandoned(StepIdentity(id: handle.id, name: nil))
      #expect(text(handle.state) == "failed \(error)")
    }
  }
}
