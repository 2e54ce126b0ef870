import Foundation
import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Canceling a promise.
struct PromiseCancelTests {
  /// The state and the outcome of a canceled promise.
  private let isCanceled = "failed CancellationError()"

  private func cancellable(_ handler: @escaping @Sendable () -> Void = {}) -> Deferred<Int> {
    let deferred = Deferred<Int>("cancellable", diagnostics: .silent)
    deferred.onCancel(handler)
    return deferred
  }

  // Recurses without end if a promise still counts as forwarded after its cancellation.
  @Test("a canceled promise has an outcome, even if its dependents wait for another one")
  func afterForwarding() async {
    let (outer, middle, end) = (Deferred<Int>(), Deferred<Int>(), Deferred<Int>())
    middle.promise.relay(to: outer)
    end.promise.relay(to: middle)
    #expect(middle.promise.cancel())
    #expect(text(middle.promise.state) == isCanceled)
    #expect(await outer.promise.outcome == isCanceled)
  }

  // Fails if the order changes, or the cancel handlers do not see a canceled promise.
  @Test(
    "a canceled promise fails, then its cancel handlers are called, then its failure handlers",
    .shows(Promising.cancellable))
  func order() async {
    let (log, deferred) = (Log<String>(), Deferred<Int>())
    let promise = deferred.promise
    promise.failed { log.append("failed \($0)") }.fulfilled { log.append("\($0)") }
      .progressed { log.append("\($0)") }
    deferred.onCancel { log.append("first \(text(promise.state))") }
    deferred.onCancel { log.append("second") }
    #expect(promise.cancel())
    #expect(log.all.prefix(2) == ["first failed CancellationError()", "second"])
    await promise.waitForHandlers()
    let all = ["first failed CancellationError()", "second", "failed CancellationError()"]
    #expect(log.all == all)
  }

  // Hangs if a cancel handler that waits for its own promise blocks.
  @Test("a cancel handler may read the outcome")
  func asking() async {
    let (log, deferred) = (Log<String>(), Deferred<Int>())
    let promise = deferred.promise
    deferred.onCancel {
      do { log.append("\(try promise.wait())") } catch { log.append("\(error)") }
    }
    #expect(promise.cancel())
    #expect(log.all == ["CancellationError()"])
  }

  /// A promise that depends on another.
  enum Dependent: CaseIterable { case links, adopted, combined }

  // Fails if canceling the end of a chain does not reach its beginning, the promise that a handler
  // returned, or an input; if a dependent is ignored, or one that was canceled still counts.
  @Test(
    "canceling a derived promise cancels a source whose other dependents, if any, are canceled too",
    .shows(Promising.derived), arguments: Dependent.allCases, [false, true])
  func derived(_ dependent: Dependent, isShared: Bool) async {
    let (log, begun) = (Log<String>(), Gate())
    let deferreds = [cancellable { log.append("stop") }, cancellable()]
    defer { withExtendedLifetime(deferreds) {} }
    let source = deferreds[0].promise
    let other = isShared ? source.map { $0 } : nil
    let derived =
      switch dependent {
      case .links: source.map { $0 }.map { $0 }.recover { _ in 9 }
      case .adopted:
        Promise.value(1).then { _ in
          defer { begun.open() }
          return source
        }
      case .combined: when(deferreds.map(\.promise)).map { $0[0] }
      }
    if dependent == .adopted { await begun.passed() }
    await Promise.value(0).waitForHandlers()
    #expect(derived.cancel())
    #expect(await derived.outcome == isCanceled)
    if let other {
      #expect(log.all.isEmpty)
      #expect([source, other].map { text($0.state) } == ["pending", "pending"])
      #expect(other.cancel())
    }
    #expect(log.all == ["stop"])
    #expect(text(source.state) == isCanceled)
  }

  // Fails if a source that cannot be canceled makes its dependents uncancelable.
  @Test("a derived promise can be canceled even if its source cannot")
  func derivedOnly() async {
    let (log, deferred) = (Log<Int>(), Deferred<Int>())
    let derived = deferred.promise.map { log.append($0) }
    #expect(derived.cancel())
    deferred.fulfill(1)
    await deferred.promise.waitForHandlers()
    #expect(log.count == 0, "a canceled handler is not called")
    #expect(await derived.outcome == isCanceled)
    #expect(text(deferred.promise.state) == "1")
  }

  // Fails if a cancellation between the resolution and the wait is lost.
  @Test("a promise that is canceled while it is resolved with another cancels that one")
  func adoptedAtOnce() async {
    for _ in 0..<(isLong ? 10_000 : 500) {
      let (outer, inner) = (cancellable(), cancellable())
      let both = Locked(0)
      onThreads(2) { index in
        both.withLock { $0 += 1 }
        while both.withLock({ $0 }) < 2 { sched_yield() }
        if index == 0 { inner.promise.relay(to: outer) } else { outer.promise.cancel() }
      }
      #expect(await outer.promise.outcome == isCanceled)
      // If the cancellation came first, the relay was late and had no effect.
      let state = text(inner.promise.state)
      if state == "pending" { #expect(inner.promise.core.withLock { $0.upstream } == nil) }
      let wasAdopted = outer.promise.core.withLock { $0.isBound }
      #expect((state == "pending") == !wasAdopted)
    }
  }

  // Fails if the task continues, or the promise waits for it.
  @Test("canceling a promise cancels the task of its asynchronous work or handler")
  func task() async {
    for handler in [false, true] {
      let (begun, notified) = (Gate(), Gate())
      let work = { @Sendable () async -> Int in
        begun.open()
        await withTaskCancellationHandler {
          await notified.passed()
        } onCancel: {
          notified.open()
        }
        return 1
      }
      let promise =
        handler
        ? Promise.value(1).map { _ in await work() } : Promise<Int> { await work() }.start()
      await begun.passed()
      #expect(promise.cancel())
      #expect(await promise.outcome == isCanceled)
      await notified.passed()
    }
  }

  // Fails if the wait continues, or the work does without a dependent.
  @Test(
    "canceling the awaiting task ends the wait, and cancels a promise without other dependents",
    .shows(Promising.awaiting))
  func awaiting() async {
    for isShared in [false, true] {
      let log = Log<String>()
      let deferred = cancellable { log.append("stop") }
      if isShared { deferred.promise.fulfilled { _ in } }
      let waiter = Task { await deferred.promise.outcome }
      while deferred.promise.core.withLock({ !$0.isFailureHandled }) { await Task.yield() }
      waiter.cancel()
      #expect(await waiter.value == isCanceled)
      #expect(log.all == (isShared ? [] : ["stop"]))
      #expect(text(deferred.promise.state) == (isShared ? "pending" : isCanceled))
    }
  }

  // Hangs if a task that was canceled before the call waits.
  @Test("a canceled task does not wait")
  func canceledBefore() async throws {
    let deferred = cancellable()
    let waiter = canceledTask { await deferred.promise.outcome }
    #expect(try await waiter.value == isCanceled)
  }

  // Fails if the promise that a handler returns is not canceled after its last dependent.
  @Test(
    "canceling a promise whose handler runs cancels the one that the handler returns",
    arguments: [false, true])
  func returnedTooLate(isShared: Bool) async {
    let (reports, log, source) = (Reports(), Log<String>(), Deferred<Int>())
    let inner = Deferred<Int>("inner", diagnostics: reports.place)
    inner.onCancel { log.append("stop") }
    let other = isShared ? inner.promise.map { $0 } : nil
    let place = Locked<Promise<Int>?>(nil)
    let outer = source.promise.then { _ in
      place.withLock { $0 }?.cancel()
      return inner.promise
    }
    place.withLock { $0 = outer }
    source.fulfill(1)
    await source.promise.waitForHandlers()
    #expect(text(inner.promise.state) == (isShared ? "pending" : isCanceled))
    #expect(log.all == (isShared ? [] : ["stop"]))
    if inner.tryFail(Failed()) { #expect(await other?.outcome == "failed Failed(number: 0)") }
    #expect(reports.all.isEmpty)
    place.withLock { $0 = nil }
  }

  // Fails if the cancel handler of the task is registered only when the handler suspends.
  @Test(
    "canceling a promise reaches its handler's task before the task suspends",
    .enabled(if: tasksStartHere))
  func unsuspended() async {
    let (log, source, place) = (Log<Bool>(), Deferred<Int>(), Locked<Promise<Int>?>(nil))
    let promise = source.promise.map { value async in
      place.withLock { $0 }?.cancel()
      log.append(Task.isCancelled)
      return value
    }
    place.withLock { $0 = promise }
    source.fulfill(1)
    await source.promise.waitForHandlers()
    #expect(log.all == [true])
    place.withLock { $0 = nil }
  }

  // Fails if it is other than what `cancel` then returns, or a promise that cannot be canceled
  // changes.
  @Test(
    "whether a promise can be canceled is what `cancel` then returns; otherwise it is unchanged",
    .shows(Promising.cancellable, .settledStays))
  func isCancellable() async throws {
    let (gate, begun, log) = (Gate(), Gate(), Log<Int>())
    let (plain, owned) = (Deferred<Int>(), Deferred<Int>())
    let (settled, failed) = (cancellable { log.append(1) }, cancellable { log.append(1) })
    owned.onCancel {}
    settled.fulfill(1)
    failed.fail(Failed())
    let running = Promise {
      begun.open()
      await gate.passed()
      return 1
    }
    let canceled = Promise { 1 }
    canceled.cancel()
    running.start()
    await begun.passed()
    let promises: KeyValuePairs<String, (Promise<Int>, state: String)> = [
      "settled": (settled.promise, "1"), "failed": (failed.promise, "failed Failed(number: 0)"),
      "without a handler": (plain.promise, "pending"), "canceled": (canceled, isCanceled),
      "a value": (.value(1), "1"), "with a handler": (owned.promise, ""),
      "derived": (plain.promise.map { $0 + 1 }, ""), "cold": (Promise { 1 }, ""),
      "running": (running, ""), "combined": (when([plain.promise]).map { $0[0] }, ""),
    ]
    for (name, (promise, state)) in promises {
      promise.failed { _ in }
      #expect(promise.isCancellable == state.isEmpty, "\(name)")
      #expect(promise.cancel() == state.isEmpty, "\(name)")
      #expect(!promise.isCancellable, "\(name)")
      #expect(text(promise.state) == (state.isEmpty ? isCanceled : state), "\(name)")
    }
    #expect(log.count == 0)
    gate.open()
    plain.fulfill(1)
    #expect(await plain.promise.outcome == "1")
    let body = Promise<Int> { deferred in
      #expect(!deferred.promise.isCancellable)
      deferred.onCancel {}
      #expect(deferred.promise.isCancellable)
      deferred.fulfill(2)
    }
    #expect(try await body.value == 2)
  }
}
