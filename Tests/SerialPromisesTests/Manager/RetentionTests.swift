import TestSupport
import Testing

@testable import SerialPromises

/// Retention of ended and canceled steps, and the cost of cancellation.
struct RetentionTests {
  private let manager = PromiseManager(diagnostics: .silent)

  /// Counts the live errors.
  private final class Errors: Sendable {
    private let alive = Locked(0)
    var count: Int { alive.withLock { $0 } }

    func make() -> any Error {
      alive.withLock { $0 += 1 }
      return Sentinel { [alive] in alive.withLock { $0 -= 1 } }.asError
    }
  }

  // Fails if a segment retains an error: store it in a record that stays in the slot.
  @Test("a manager retains no error of an ended step", arguments: [true, false])
  func errors(_ areNamed: Bool) {
    let errors = Errors()
    for _ in 1...100 {
      let handler: Promisable.Handler = { then in then(errors.make()) }
      if areNamed { manager.add(Step("failing", handler)) } else { manager.add(handler) }
      #expect(errors.count == 0)
    }
    manager.pause()
    for _ in 1...100 { manager.add { then in then(errors.make()) } }
    manager.resumeAndWait()
    #expect(errors.count == 0)
  }

  // Fails if a handle retains its segment, and with it the outcomes of other steps.
  @Test("a handle retains the error of its own step only", arguments: [true, false])
  func handles(_ arePaused: Bool) {
    let errors = Errors()
    if arePaused { manager.pause() }
    var kept: [StepHandle] = []
    for number in 1...1_024 {
      let handle = manager.add { then in then(errors.make()) }
      if number % 64 == 0 { kept.append(handle) }
    }
    manager.resumeAndWait()
    #expect(errors.count == 16)
    #expect(kept.allSatisfy { text($0.state).hasPrefix("failed") })
    kept.removeLast()
    #expect(errors.count == 15)
    kept = []
    #expect(errors.count == 0)
  }

  // Fails if the record of an ended step retains its segment.
  @Test("a handle of an ended step retains no segment")
  func segments() {
    weak var segment: Segment?
    let handles = (1...64).map { _ in
      let handle = manager.add { then in then() }
      segment = handle.record.segment
      return handle
    }
    #expect(segment != nil)
    for _ in 1...2 { manager.add { then in then() } }
    #expect(segment == nil)
    #expect(handles.allSatisfy { text($0.state) == "succeeded" })
  }

  // Fails if each dropped handle costs a record, or a record is reused while it is held.
  @Test("unnamed steps share a record as long as their handles are dropped")
  func sharedRecord() {
    let first = ObjectIdentifier(manager.add { then in then() }.record)
    for _ in 1...200 {
      #expect(ObjectIdentifier(manager.add { then in then() }.record) == first)
    }
    let kept = manager.add { then in then() }
    #expect(ObjectIdentifier(kept.record) == first)
    #expect(ObjectIdentifier(manager.add { then in then() }.record) != first)
    #expect(text(kept.state) == "succeeded")
  }

  // Fails if the outcome of a step with a live handle is lost: at a segment boundary, with the
  // manager, or because the step ends before the next one is added.
  @Test("every live handle has its outcome, whichever handles are kept", arguments: 1...4)
  func kept(every stride: Int) {
    var handles: [(Int, StepHandle)] = []
    do {
      let manager = PromiseManager()
      for number in 0..<300 {
        if number % 50 == 10 { manager.pause() }
        if number % 50 == 30 { manager.resumeAndWait() }
        let handle = manager.add { then in then(number % 3 == 0 ? Failed(number: number) : nil) }
        if number % 7 == 0 { handle.cancel() }
        if number % stride == 0 { handles.append((number, handle)) }
      }
    }
    for (number, handle) in handles {
      let isCancelled = (10..<30).contains(number % 50) && number % 7 == 0
      let expected =
        isCancelled
        ? "cancelled" : number % 3 == 0 ? "failed Failed(number: \(number))" : "succeeded"
      #expect(text(handle.state) == expected, "\(number)")
    }
  }

  // MARK: Canceling

  // Fails if each sweep begins at the first slot: 1 + 2 + 3 … slots.
  @Test("cancelAll visits the steps added since the last call", .shows(Managing.cancelAll))
  func visits() {
    let taken = Taken()
    manager.add(taken.handler)
    var visited = 0
    for _ in 1...10_000 {
      manager.add { then in then() }
      visited += manager.order.transition { $0.cancelWaiting() }
    }
    // The running step is visited once.
    #expect(visited == 10_001)
    #expect(manager.segmentCount <= 2)
    taken.call()
  }

  // Fails if segments with only canceled steps are visited or retained.
  @Test("cancelAll visits only the segments with waiting steps")
  func sparse() {
    manager.pause()
    let handles = (0..<6_400).map { _ in manager.add { then in then() } }
    for (index, handle) in handles.enumerated() where index % 640 != 0 { handle.cancel() }
    #expect(manager.waitingCount == 10)
    // The segments with waiting steps, and the last one.
    #expect(manager.segmentCount == 11)
    #expect(manager.order.transition { $0.cancelWaiting() } == 11 * 64)
    #expect(manager.segmentCount == 1)
    #expect(manager.order.transition { $0.cancelWaiting() } == 0)
  }

  // Fails if a segment is removed only when the queue reaches it.
  @Test("canceled steps are reclaimed while the manager is paused", arguments: [true, false])
  func reclaimed(_ oneByOne: Bool) {
    manager.pause()
    for _ in 1...10_000 {
      let handle = manager.add { then in then() }
      if oneByOne { handle.cancel() } else { manager.cancelAll() }
    }
    #expect(manager.segmentCount <= 2)
    let log = Log<Int>()
    for number in 1...100 {
      manager.add(log.appending(number))
    }
    manager.resumeAndWait()
    #expect(log.all == Array(1...100))
    #expect(manager.segmentCount <= 2)
  }

  // Fails if the position of the first step that waits for room is lost with its segment, or
  // segment numbers are treated as contiguous.
  @Test("callers get room across removed segments", .shows(Managing.capacity))
  func parked() {
    let admitted = Log<Int>()
    let manager = PromiseManager(capacity: 64)
    manager.pause()
    // Fills a segment, so that the first step that waits for room begins another.
    for _ in 1...64 { manager.add { then in then() } }
    let handles = (65...400).compactMap { number in
      manager.park({ then in then() }) { if $0 { admitted.append(number) } }
    }
    // From the first step that waits for room, in its segment and the following ones.
    for handle in handles where handle.id < 300 { handle.cancel() }
    #expect(admitted.all.isEmpty)
    manager.resumeAndWait()
    #expect(admitted.all == Array(300...400))
    #expect(manager.waitingCount == 0 && manager.progress == 1)
  }

  private struct WeakToken {
    weak var token: Token?
  }

  // Fails if a turn that ends releases its token, or a turn creates one although one is kept. The
  // addresses alone would not show it: the allocator reuses the same one.
  @Test("turns of one step use the same token", arguments: [true, false])
  func oneToken(callsThen: Bool) {
    let kept = Locked(WeakToken())
    manager.add { then in
      kept.withLock { $0.token = then.token }
      if callsThen { then() }
    }
    #expect(kept.withLock { $0.token } != nil)
    manager.add { then in
      #expect(kept.withLock { $0.token } === then.token)
      then()
    }
  }

  // Fails if a late call does not keep its token, or if a token with another reference is reused:
  // the second call would end the third step.
  @Test(
    "a late `then` leaves its token to a later step, unless a copy exists",
    arguments: [true, false])
  func lateToken(hasCopy: Bool) {
    let (manager, seen) = (PromiseManager(diagnostics: .silent), Log<String>())
    // In a task, the next step would run on another thread.
    onThread {
      let running = Locked<Then?>(nil)
      for _ in 1...3 { manager.add { then in running.withLock { $0 = then } } }
      var copies: [Then] = []
      var first = WeakToken()
      for number in 1...2 {
        let then = running.withLock { $0.take() }
        if number == 1 { first.token = then?.token }
        if hasCopy, let then { copies.append(then) }
        then?()
      }
      seen.append("reused: \(running.withLock { $0?.token } === first.token)")
      for copy in copies { copy() }
      seen.append("runs: \(manager.runningStep?.id ?? 0)")
      running.withLock { $0.take() }?()
    }
    #expect(seen.all == ["reused: \(!hasCopy)", "runs: 3"])
    #expect(manager.isIdle)
  }

  // Fails if the `deinit` of a kept token ends another step, or the manager does not release it.
  @Test("a kept token ends no step, and is released with the manager")
  func keptToken() {
    let ended = Log<String>()
    weak var order: Locked<SerialOrder>?
    do {
      let manager = PromiseManager(diagnostics: .silent)
      order = manager.order
      for _ in 1...2 {
        ended.append(text(manager.add { then in then() }.state))
        ended.append(text(manager.add { _ in }.state))
      }
    }
    #expect(ended.all.map { $0.hasPrefix("failed") } == [false, true, false, true])
    #expect(order == nil)
  }
}
