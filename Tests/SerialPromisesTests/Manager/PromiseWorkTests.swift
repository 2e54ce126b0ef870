import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// The step of a promise ends when the promise's work has ended.
@Suite(.serialized)
struct PromiseWorkTests {
  /// Kinds of work; each records its end when it is released.
  enum Kind: String, CaseIterable, Sendable {
    case task, mainActorTask, deferred, droppedDeferred, hotDeferred, callbacks
    case asyncLink, link, queueLink, linkOnHot, adopted, adoptedChain, adoptedQueue
    case finally, asyncFinally, nested, whenAll, whenConcurrently, loser, retry, body
    case timedOutPromise, ofOtherManager
  }

  /// Ways to cancel the work.
  enum Way: String, CaseIterable, Sendable {
    case handle, promise, cancelAll, timeout
  }

  /// Work that ignores its cancellation until it is released.
  final class LateWork: Sendable {
    let log = Log<String>()
    let begun = Gate()
    let released = Gate()

    /// Blocks, like code that does not support cancellation.
    func block() {
      begun.open()
      released.block()
      log.append("work ends")
    }

    func suspend() async {
      begun.open()
      await released.passed()
      // The code after the last suspension is part of the work.
      for _ in 0..<100 { await Task.yield() }
      log.append("work ends")
    }

    /// Calls back from another thread.
    func later(_ callback: @escaping @Sendable () -> Void) {
      DispatchQueue.global().async {
        self.block()
        callback()
      }
    }
  }

  private let queue = DispatchQueue(label: "links")

  private func promise(_ kind: Kind, _ work: LateWork, _ clock: ManualClock) -> Promise<Int> {
    let ready = Promise<Int> { resolve, _ in resolve(1) }
    let task = Promise<Int> {
      await work.suspend()
      return 1
    }
    let inner = { @Sendable in
      let deferred = Deferred<Int>()
      deferred.onCancel {}
      work.later { deferred.tryFulfill(1) }
      return deferred.promise
    }
    switch kind {
    case .task: return task
    case .mainActorTask:
      return Promise { @MainActor in
        await work.suspend()
        return 1
      }
    case .deferred:
      return Promise<Int> { deferred in
        deferred.onCancel {}
        work.later { deferred.fulfill(1) }
      }
    case .droppedDeferred:
      return Promise<Int> { deferred in
        deferred.onCancel {}
        work.later { withExtendedLifetime(deferred) {} }
      }
    case .hotDeferred: return inner()
    case .callbacks:
      return Promise<Int> { resolve, _ in work.later { resolve(1) } }.map { $0 }
    case .asyncLink:
      return ready.map { number async in
        await work.suspend()
        return number
      }
    case .link:
      return ready.map { number in
        work.block()
        return number
      }
    case .queueLink:
      return ready.map(on: queue) { number in
        work.block()
        return number
      }
    case .linkOnHot:
      return Promise.value(1).map { number in
        work.block()
        return number
      }.map { $0 + 1 }
    case .adopted: return ready.then { _ in inner() }
    case .adoptedChain: return ready.then { _ in inner().map { $0 + 1 } }.map { $0 }
    case .adoptedQueue:
      return ready.then { _ in
        Promise.on(.global()) {
          work.block()
          return 1
        }
      }
    case .finally: return task.finally { work.log.append("cleaned up") }.map { $0 }
    case .asyncFinally: return task.finally { () async in work.log.append("cleaned up") }
    case .nested: return ready.then { _ in ready.then { _ in task } }
    case .whenAll: return when(ready, task).map { $0 + $1 }
    case .whenConcurrently: return when([ready, task].lazy, concurrently: 2).map { $0[0] }
    case .loser: return Promise.race([Promise<Int> { throw Failed() }, task])
    case .retry: return task.retry(2)
    case .body:
      return Promise<Int> { resolve, _ in
        resolve(1)
        work.block()
      }
    case .timedOutPromise: return task.timeout(.seconds(1), clock: clock)
    case .ofOtherManager:
      return PromiseManager().enqueue {
        await work.suspend()
        return 1
      }
    }
  }

  // Fails if the next step begins when the promise is settled, before its work has ended.
  @Test(
    "the step after a canceled promise begins when the promise's work has ended",
    .shows(Managing.workEnds), arguments: Kind.allCases)
  func workEndsLate(_ kind: Kind) async {
    for way in Way.allCases {
      let (work, clock) = (LateWork(), ManualClock())
      let manager = PromiseManager(on: DispatchQueue(label: "steps"), onFailure: .stop)
      let promise = promise(kind, work, clock)
      let entered = Gate()
      let step =
        way == .timeout
        ? (promise as any Promisable).timeout(.seconds(1), clock: clock)
        : Step(promise)
      var watched = step
      watched.work = Work { then in
        step.handler(then)
        entered.open()
      }
      let handle = manager.add(watched)
      manager.add(work.log.appending("next"))
      await work.begun.passed()
      // Hot work begins before the turn of its step.
      if [.hotDeferred, .linkOnHot, .ofOtherManager].contains(kind) { await entered.passed() }
      switch way {
      case .handle: handle.cancel()
      case .promise: promise.cancel()
      case .cancelAll: manager.cancelAll()
      case .timeout: clock.advance(by: .seconds(1))
      }
      if kind == .timedOutPromise { clock.advance(by: .seconds(1)) }
      // Listeners of the promise do not wait for the end of its work.
      if kind != .callbacks, kind != .body { await promise.waitForHandlers() }
      if way != .timeout { #expect(text(handle.state) == "running", "\(kind) \(way)") }
      #expect(manager.runningStep?.id == handle.id, "\(kind) \(way)")
      work.released.open()
      let outcome = await handle.outcome
      manager.resume()
      await manager.idle()
      var expected = ["work ends"]
      if kind == .finally || kind == .asyncFinally { expected.insert("cleaned up", at: 0) }
      if way != .cancelAll { expected.append("next") }
      #expect(Set(work.log.all) == Set(expected), "\(kind) \(way)")
      #expect(way == .cancelAll || work.log.last == "next", "\(kind) \(way)")
      guard ![.callbacks, .body, .loser, .timedOutPromise].contains(kind) else { continue }
      let late = "failed \(PromiseError.timedOut(.seconds(1)))"
      #expect(text(outcome) == (way == .timeout ? late : "cancelled"), "\(kind) \(way)")
    }
  }

  // Fails if an independent hot promise counts as work of the step that combined it, or if the next
  // step waits for a timer that lost a race.
  @Test("a hot promise or a timer that lost a race does not delay the next step")
  func loser() async {
    let (manager, stop, clock) = (PromiseManager(), Deferred<Int>(), ManualClock())
    let timer = Promise<Int>.failure(Failed(), after: .seconds(30), clock: clock)
    for loser in [stop.promise, timer] {
      let handle = manager.add(Promise.race([Promise<Int> { 1 }, loser]))
      #expect(text(await handle.outcome) == "succeeded")
    }
    stop.fulfill(2)
  }

  // Fails if the thread that starts a promise in its turn also runs the promise's handlers: the
  // next step then waits for one that waits for it.
  @Test("a handler may wait for the step after that of its promise, which is settled at once")
  func handlerWaitsForNextStep() async {
    let (manager, log, next) = (PromiseManager(), Log<String>(), Gate())
    manager.add(
      Promise<Int> { deferred in
        deferred.promise.fulfilled { _ in
          next.block()
          log.append("handler")
        }
        deferred.fulfill(1)
      })
    let handle = manager.add { then in
      log.append("next")
      next.open()
      then()
    }
    #expect(text(await handle.outcome) == "succeeded")
    #expect(log.all.first == "next")
  }

  // Fails if a handler that is attached after the settlement waits until the work has returned.
  @Test("work that has settled its promise may wait for the promise's handlers")
  func workWaitsForHandler() async {
    let (manager, log) = (PromiseManager(), Log<String>())
    let handle = manager.add(
      Promise<Int> { deferred in
        deferred.fulfill(1)
        let handled = Gate()
        DispatchQueue(label: "other").async {
          deferred.promise.fulfilled { _ in
            log.append("handler")
            handled.open()
          }
        }
        handled.block()
        log.append("work")
      })
    #expect(text(await handle.outcome) == "succeeded")
    #expect(log.all == ["handler", "work"])
  }
}
