import TestSupport
import Testing

@testable import SerialPromises

/// A few promises at a time, pulled from a sequence.
struct ConcurrentlyTests {
  /// Counts how many are at work.
  private final class Crew: Sendable {
    private let state = Locked((now: 0, most: 0, begun: 0))
    var most: Int { state.withLock { $0.most } }
    var begun: Int { state.withLock { $0.begun } }

    func work<Value: Sendable>(_ value: Value) -> Promise<Value> {
      Promise {
        self.state.withLock { state in
          state.now += 1
          state.begun += 1
          state.most = max(state.most, state.now)
        }
        await Task.yield()
        self.state.withLock { $0.now -= 1 }
        return value
      }
    }
  }

  // Fails if more are at work than allowed, or values are in the order of their ends.
  @Test(
    "no more than the limit are at work, and values are in the order of pulling",
    .shows(Promising.concurrently))
  func limit() async throws {
    let crew = Crew()
    let all = when((0..<100).lazy.map { crew.work($0) }, concurrently: 3)
    #expect(crew.begun == 0)
    #expect(try await all.value == Array(0..<100))
    #expect(crew.most <= 3)
  }

  // Fails if an empty sequence is waited for.
  @Test("an empty sequence gives an empty array", .shows(Promising.empty))
  func empty() async {
    #expect(await when(EmptyCollection<Promise<Int>>(), concurrently: 2).outcome == "[]")
  }

  // Fails if pulling goes on after a failure, or the index is lost.
  @Test("after a failure no more are pulled")
  func failure() async {
    let pulled = Log<Int>()
    let promises = (0..<100).lazy.map { index in
      pulled.append(index)
      return index == 2 ? Promise<Int>.failure(Failed()) : .value(index)
    }
    let all = when(promises, concurrently: 1)
    let failure = await #expect(throws: WhenFailure<Int>.self) { try await all.value }
    #expect(failure?.position == 2)
    #expect(pulled.all == [0, 1, 2])
  }

  // Fails if what is at work is not told, or pulling goes on.
  @Test("cancelling stops pulling and cancels what is at work")
  func cancel() async {
    let (log, begun) = (Log<Int>(), Gate())
    let held = Locked<[Deferred<Int>]>([])
    let promises = (0..<10).lazy.map { index in
      Promise<Int> { deferred in
        held.withLock { $0.append(deferred) }
        deferred.onCancel { log.append(index) }
        if index == 1 { begun.open() }
      }
    }
    let all = when(promises, concurrently: 2).start()
    await begun.passed()
    all.cancel()
    #expect(log.all.sorted() == [0, 1])
    #expect(held.withLock { $0.count } == 2)
    #expect(await all.outcome == "failed CancellationError()")
    held.withLock { $0.removeAll() }
  }

  // Fails with a stack overflow if settled promises are pulled recursively.
  @Test("100,000 settled promises need constant stack", .shows(Promising.stack))
  func many() async throws {
    let all = when((0..<100_000).lazy.map { Promise.value($0) }, concurrently: 2)
    #expect(try await all.value.count == 100_000)
  }

  // Fails if what the sequence was just making when it was stopped begins all the same, or is left
  // to itself.
  @Test("a promise that is pulled while all are cancelled never begins, and is cancelled")
  func cancelWhilePulling() async {
    let (log, all) = (Log<Int>(), Locked<Promise<[Int]>?>(nil))
    let (made, held) = (Locked<[Promise<Int>]>([]), Locked<[Deferred<Int>]>([]))
    let promises = (0..<10).lazy.map { index in
      if index == 1 { all.withLock { $0 }?.cancel() }
      let promise = Promise<Int> { deferred in
        log.append(index)
        held.withLock { $0.append(deferred) }
        deferred.onCancel {}
      }
      made.withLock { $0.append(promise) }
      return promise
    }
    let promise = when(promises, concurrently: 2)
    all.withLock { $0 = promise }
    promise.start()
    #expect(log.all == [0])
    let cancelled = "failed CancellationError()"
    #expect(made.withLock { $0 }.map { text($0.state) } == [cancelled, cancelled])
    all.withLock { $0 = nil }
    held.withLock { $0.removeAll() }
  }
}
