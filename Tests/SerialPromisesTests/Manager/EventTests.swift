import TestSupport
import Testing

@testable import SerialPromises

/// The events that a listener receives.
struct EventTests {
  private func text(_ event: StepEvent) -> String {
    guard case .finished(_, _, nil) = event else { return SerialPromisesTests.text(event) }
    return SerialPromisesTests.text(event) + " since unknown"
  }

  /// The events until the sequence ends.
  private func rest(_ events: AsyncStream<StepEvent>) async -> [String] {
    var all: [String] = []
    for await event in events { all.append(text(event)) }
    return all
  }

  /// The events of a manager that has run these steps, and is released.
  private func events(
    bufferingNewest limit: Int = 1024, of steps: (PromiseManager) -> Void
  ) -> AsyncStream<StepEvent> {
    let manager = PromiseManager()
    let events = manager.events(bufferingNewest: limit)
    steps(manager)
    return events
  }

  // Fails if an event is missing, duplicated or out of order, of a step that was canceled while it
  // waited, or with its manager; or if the events end before the steps whose work is canceled: end
  // them in `SerialOrder.invalidate`.
  @Test(
    "the events of every step are in order, and the sequence ends with the manager",
    .shows(Managing.events))
  func order() async {
    let events = {
      let manager = PromiseManager()
      let taken = manager.hold()
      let events = manager.events()
      let cancelled = manager.add { then in then() }
      manager.add { then in then(Failed()) }
      cancelled.cancel()
      taken.call()
      manager.pause()
      manager.add { then in then() }
      manager.add(Promise { 1 })
      return events
    }()
    let expected = [
      "added 2", "added 3", "finished 2 cancelled since unknown",
      "finished 1 succeeded since unknown", "started 3", "finished 3 failed", "idle", "added 4",
      "added 5", "finished 4 cancelled since unknown", "finished 5 cancelled since unknown",
    ]
    #expect(await rest(events) == expected)
  }

  // Fails if two threads deliver events at the same time.
  @Test(
    "the events of steps that 8 threads add are in the order in which the manager accepted the steps",
    .shows(Managing.events))
  func threads() async {
    let perThread = 200
    let events = events(bufferingNewest: .max) { manager in
      onThreads(8) { _ in
        for _ in 0..<perThread { manager.add { then in then() } }
      }
    }
    var (added, started, finished) = (0, 0, 0)
    var isIdle = true
    for await event in events {
      switch event {
      case .added(let step):
        added += 1
        #expect(step.id == added)
      case .started(let step):
        #expect(started == finished, "another one runs")
        started += 1
        #expect(step.id == started && started <= added)
      case .finished(let step, _, let duration):
        finished += 1
        #expect(step.id == finished && finished == started && duration != nil)
      case .idle: #expect(!isIdle && finished == added)
      }
      if case .idle = event { isIdle = true } else { isIdle = false }
    }
    #expect(finished == 8 * perThread && isIdle)
  }

  // Fails if the buffer is unbounded, drops the newest events, or stores one although its size is
  // 0; traps if the size is negative.
  @Test(
    "a slow listener receives the newest events, or none without a buffer",
    .shows(Managing.events), arguments: [3, 0, -1])
  func bounded(_ limit: Int) async {
    let events = events(bufferingNewest: limit) { manager in
      for _ in 1...100 { manager.add { then in then() } }
    }
    let newest = ["started 100", "finished 100 succeeded", "idle"]
    #expect(await rest(events) == (limit > 0 ? newest : []))
  }

  // Fails if only one listener is kept, or listeners share a buffer.
  @Test("each listener receives all events since it began to listen")
  func several() async throws {
    var second: AsyncStream<StepEvent>?
    let first = events { manager in
      manager.add { then in then() }
      second = manager.events()
      manager.add { then in then() }
    }
    let expected = (1...2).map {
      ["added \($0)", "started \($0)", "finished \($0) succeeded", "idle"]
    }
    #expect(await rest(first) == expected[0] + expected[1])
    #expect(await rest(try #require(second)) == expected[1])
  }

  // Fails if events are created without a listener, an ended listener is retained, or one whose
  // task is canceled is still sent events; hangs if that is not resumed.
  @Test(
    "no event is created without a listener, or after the last one was released or its task canceled",
    .shows(Managing.silence, .events))
  func withoutListener() async {
    let (manager, listening) = (PromiseManager(), Gate())
    var hasListener: Bool { manager.order.withLock { $0.line.feed != nil } }
    manager.add { then in then() }
    #expect(!hasListener)
    do {
      let events = manager.events()
      #expect(hasListener)
      withExtendedLifetime(events) {}
    }
    #expect(!hasListener)
    let listener = Task {
      let events = manager.events()
      listening.open()
      return await rest(events).count
    }
    await listening.passed()
    #expect(hasListener)
    listener.cancel()
    #expect(await listener.value == 0)
    #expect(!hasListener)
  }

  // Fails if events are queued for another thread to deliver, or a listener's buffer is not
  // trimmed: an event would cost more than one visit of each listener.
  @Test("a transition delivers its own events, and buffers no more than the limit")
  func bounds() {
    var order = SerialOrder()
    let lock = Locked(SerialOrder())
    let buffers = (1...8).map { _ in EventBuffer(limit: 16) }
    for buffer in buffers { order.line.listen(buffer) { .now } }
    let thread = ThreadIdentity()
    for _ in 1...1_000 {
      var work: Work? = Work { then in then() }
      _ = order.add(&work, nil, lock: lock, owner: nil)
      if order.next(.all, on: thread).move == .again { _ = order.next(.all, on: thread) }
      _ = order.handlerReturned(.called, .all, on: thread)
      #expect(buffers.allSatisfy { $0.count <= 16 })
    }
    #expect(order.line.effects.isEmpty, "no listener waits, and no event has an error")
    while order.line.queue.removeSegment() != nil {}
  }

  // Fails if the clock is read at another moment than the start and the end of the step.
  @Test("the duration of a step is the time from its start to its end")
  func duration() {
    let times = Locked((1...).makeIterator())
    let start = ContinuousClock.now
    var order = SerialOrder()
    let lock = Locked(SerialOrder())
    let buffer = EventBuffer(limit: 16)
    order.line.listen(buffer) { start + .seconds(times.withLock { $0.next() } ?? 0) }
    let thread = ThreadIdentity()
    var work: Work? = Work { then in then() }
    _ = order.add(&work, nil, lock: lock, owner: nil)
    while order.next(.all, on: thread).move == .again {}
    #expect(times.withLock { $0.next() } == 2, "it was read at the start, and only then")
    _ = order.handlerReturned(.called, .all, on: thread)
    let durations = buffer.removeAll().compactMap { event in
      if case .finished(_, _, let duration) = event { duration } else { nil }
    }
    #expect(durations == [.seconds(2)])
    while order.line.queue.removeSegment() != nil {}
  }

  // Fails if a waiting listener is resumed more than once, or its event is buffered as well.
  @Test("a waiting listener receives its event directly")
  func waiting() async {
    let buffer = EventBuffer(limit: 2)
    let event = await withCheckedContinuation { continuation in
      guard case .none = buffer.next(continuation) else { return }
      var effects = Effects()
      buffer.append(.idle, &effects)
      #expect(buffer.count == 0)
      let wakes = effects.take()
      for count in 1...4 {
        buffer.append(.idle, &effects)
        #expect(effects.isEmpty && buffer.count == min(count, 2))
      }
      wakes.perform { _ in }
    }
    #expect(event != nil && buffer.count == 2)
  }
}
