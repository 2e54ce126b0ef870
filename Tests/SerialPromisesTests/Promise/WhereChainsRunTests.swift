import Dispatch
import Foundation
import TestSupport
import Testing

@testable import SerialPromises

private let mainKey: DispatchSpecificKey<Bool> = {
  let key = DispatchSpecificKey<Bool>()
  DispatchQueue.main.setSpecific(key: key, value: true)
  return key
}()

/// Whether the caller is on the main queue, which is that of the main actor.
func onMainActor() -> Bool { DispatchQueue.getSpecific(key: mainKey) == true }

/// Queues and actors of a chain's handlers.
struct WhereChainsRunTests {
  private let key = DispatchSpecificKey<String>()
  private let queue = DispatchQueue(label: "chain")

  init() {
    queue.setSpecific(key: key, value: "queue")
  }

  /// Where a handler runs; `free` is a queue of the library.
  private enum Place: Sendable { case free, queue, main, actor }

  private func place() -> Place {
    onMainActor() ? .main : DispatchQueue.getSpecific(key: key) == nil ? .free : .queue
  }

  /// What a handler calls: notes the place, and returns 1.
  private struct Here: Sendable {
    let place: @Sendable () -> Place
    let log = Log<Place>()
    let ran = Gate()

    @discardableResult
    func callAsFunction(at place: Place? = nil) -> Int {
      log.append(place ?? self.place())
      ran.open()
      return 1
    }

    /// Traps outside the actor.
    @Elsewhere @discardableResult
    func onActor() -> Int {
      Elsewhere.shared.preconditionIsolated()
      return self(at: .actor)
    }
  }

  /// Expects that the handler of a link runs here, and the next one on a queue of the library.
  private func expect(
    _ expected: Place, fails: Bool = false, location: SourceLocation = #_sourceLocation,
    _ attach: (Promise<Int>, Here) -> Promise<Int>
  ) async throws {
    for moment in Moment.allCases {
      let here = Here(place: place)
      let (linked, next) = moment.settling(fails ? .failure(Failed()) : .success(1)) { promise in
        let linked = attach(promise, here)
        return (linked, linked.map { _ in place() })
      }
      #expect(await linked.outcome == "1", sourceLocation: location)
      #expect(await next.outcome == "free", sourceLocation: location)
      await here.ran.passed()
      #expect(here.log.all == [expected], sourceLocation: location)
    }
  }

  // Fails if a method ignores its queue, the next handler inherits it, or the outcome is lost.
  @Test("on: sets the queue of that handler only", .shows(Promising.whereHandlersRun))
  func queues() async throws {
    try await expect(.queue) { from, here in from.then(on: queue) { _ in .value(here()) } }
    try await expect(.queue) { from, here in from.map(on: queue) { _ in here() } }
    try await expect(.queue) { from, here in from.finally(on: queue) { here() } }
  }

  // Fails, or traps, if a closure runs elsewhere than on its actor, the next handler runs there,
  // too, or the outcome is lost.
  @Test(
    "closures of the main actor, and of any other, run on that actor, others do not",
    .shows(Promising.whereHandlersRun))
  func actors() async throws {
    try await expect(.free) { from, here in from.map { _ in here() } }
    try await expect(.main) { from, here in from.then { @MainActor _ in .value(here()) } }
    try await expect(.main) { from, here in from.map { @MainActor _ in here() } }
    try await expect(.main) { from, here in from.tap { @MainActor _ in here() } }
    try await expect(.main) { from, here in from.finally { @MainActor in here() } }
    try await expect(.main) { from, here in from.fulfilled { @MainActor _ in here() } }
    try await expect(.main, fails: true) { from, here in
      from.recover { @MainActor _ in here() }
    }
    try await expect(.main, fails: true) { from, here in
      from.recover { @MainActor _ in .value(here()) }
    }
    try await expect(.main, fails: true) { from, here in
      from.catch { @MainActor _ in here() }.map { 1 }
    }
    try await expect(.main) { from, here in
      from.map { @MainActor _ in
        guard onMainActor() else { return 0 }
        await Task.yield()
        return here()
      }
    }
    try await expect(.actor) { from, here in from.then { @Elsewhere _ in .value(here.onActor()) } }
    try await expect(.actor) { from, here in from.map { @Elsewhere _ in here.onActor() } }
    try await expect(.actor) { from, here in from.tap { @Elsewhere _ in here.onActor() } }
    try await expect(.actor) { from, here in from.finally { @Elsewhere in here.onActor() } }
    try await expect(.actor) { from, here in from.fulfilled { @Elsewhere _ in here.onActor() } }
    try await expect(.actor, fails: true) { from, here in
      from.recover { @Elsewhere _ in here.onActor() }
    }
  }

  // Hangs if the task of such a handler starts on a thread of the cooperative pool.
  @Test(
    "a synchronous handler of finally that blocks does not hold the threads that tasks run on",
    .enabled(if: tasksStartHere))
  func blockingFinally() async {
    let (begun, gate) = (Log<Int>(), Gate())
    let count = ProcessInfo.processInfo.activeProcessorCount
    let promises = (0..<count).map { index in
      Promise.value(index).finally {
        begun.append(index)
        gate.block()
      }
    }
    // Returns only if tasks still run.
    await Task.detached {
      while begun.all.count < count { await Task.yield() }
      gate.open()
    }.value
    for (index, promise) in promises.enumerated() { #expect(await promise.outcome == "\(index)") }
  }

  // Fails if handlers for one queue are dispatched by several threads, or outside the promise's
  // order.
  @Test("handlers on one queue are called in the order of attachment")
  func orderOnQueue() async {
    for _ in 0..<(isLong ? 10_000 : 500) {
      let (log, deferred) = (Log<Int>(), Deferred<Int>())
      let settler = Gate()
      onOwnThread {
        deferred.fulfill(1)
        settler.open()
      }
      for index in 0..<20 { deferred.promise.finally(on: queue) { log.append(index) } }
      await settler.passed()
      await deferred.promise.waitForHandlers()
      queue.sync {}
      #expect(log.all == Array(0..<20))
    }
  }

  // Hangs if a handler waits for an earlier one on another, busy queue.
  @Test("a busy queue delays its own handlers only")
  func busyQueue() async {
    let (log, gate, done) = (Log<String>(), Gate(), Gate())
    queue.async { gate.block() }
    let promise = Promise.value(1)
    promise.finally(on: queue) { log.append("first, on the queue") }
    promise.fulfilled { _ in
      log.append("second")
      gate.open()
    }
    promise.finally(on: queue) {
      log.append("third, on the queue")
      done.open()
    }
    await done.passed()
    #expect(log.all == ["second", "first, on the queue", "third, on the queue"])
  }

  // Fails if progress reaches the main actor after the outcome, because it is dispatched outside
  // the promise's order.
  @Test("on the main actor, progress is reported before the outcome")
  func progressOnMain() async {
    for _ in 0..<100 {
      let (log, deferred) = (Log<String>(), Deferred<Int>())
      deferred.promise
        .fulfilled { @MainActor _ in log.append("fulfilled") }
        .progressed { @MainActor in log.append("\($0)") }
      deferred.progress(0.5)
      deferred.fulfill(1)
      await deferred.promise.waitForHandlers()
      await MainActor.run {}
      #expect(log.all == ["0.5", "1.0", "fulfilled"])
    }
  }

  // Fails if main-actor closures and closures for the main queue are dispatched in different ways.
  @Test("main-actor closures and those for the main queue keep the order of attachment")
  func orderOnMain() async {
    for _ in 0..<(isLong ? 2_000 : 100) {
      let (log, deferred) = (Log<Int>(), Deferred<Int>())
      for index in 0..<20 {
        // The last kind starts a task.
        switch index % (tasksStartHere ? 3 : 2) {
        case 0: deferred.promise.fulfilled { @MainActor _ in log.append(index) }
        case 1: deferred.promise.finally(on: .main) { log.append(index) }
        default: deferred.promise.finally { @MainActor in log.append(index) }
        }
      }
      let last = deferred.promise.map { @MainActor _ in log.append(20) }
      onOwnThread { deferred.fulfill(1) }
      await last.waitForHandlers()
      #expect(log.all == Array(0...20))
    }
  }
}

/// An actor that is not the main actor.
@globalActor actor Elsewhere {
  static let shared = Elsewhere()
}
