import TestSupport
import Testing

@testable import SerialPromises

/// The position of a step in the queue: where it is added, and where it is moved.
struct PlaceTests {
  private let manager = PromiseManager(diagnostics: .silent)
  private let log = Log<String>()

  @discardableResult
  private func add(_ name: String, at place: StepPlace = .last) -> StepHandle {
    manager.add(name, at: place, log.appending(name))
  }

  // MARK: Adding

  // Fails if positions are mixed up, or the other steps change their order.
  @Test("steps are added first, last and before others; the other steps keep their order")
  func adding() {
    manager.pause()
    let (a, b) = (add("a"), add("b"))
    add("c", at: .before(b))
    add("d", at: .first)
    add("e", at: .last)
    add("f", at: .before(a))
    manager.add(at: .before(b), log.appending("g"))
    manager.add(Step("h", log.appending("h")), at: .first)
    #expect(manager.waitingCount == 8)
    manager.resumeAndWait()
    #expect(log.all == ["h", "d", "f", "a", "c", "g", "b", "e"])
    #expect(manager.waitingCount == 0 && manager.progress == 1)
  }

  // Fails if a step that a handler adds first runs inside the handler, or after the others.
  @Test("a step that a handler adds first runs next")
  func fromHandler() {
    manager.pause()
    manager.add { [manager, log] then in
      manager.add(at: .first, log.appending("inner"))
      then()
      log.append("outer")
    }
    add("a")
    manager.resumeAndWait()
    #expect(log.all == ["outer", "inner", "a"])
  }

  // Fails if a step is lost because the empty queue has no neighbor for it.
  @Test("a step that is added first to an idle manager runs at once")
  func alone() {
    onThread {
      add("a", at: .first)
      add("b", at: .before(add("c", at: .first)))
    }
    #expect(log.all == ["a", "c", "b"])
  }

  // Fails if a position changes the step's id, name, events or their order.
  @Test("ids and events are in the order of addition, regardless of position")
  func numbers() async {
    let events = manager.events()
    manager.pause()
    let a = add("a")
    let b = add("b", at: .first)
    let c = add("c", at: .before(a))
    #expect([a, b, c].map(\.id) == [1, 2, 3])
    a.move(to: .first)
    #expect([a, b, c].map(\.id) == [1, 2, 3])
    #expect([a, b, c].map(\.name) == ["a", "b", "c"])
    manager.resume()
    var notified: [String] = []
    for await event in events {
      switch event {
      case .added(let step): notified.append("added \(step.id)")
      case .started(let step): notified.append("started \(step.name ?? "")")
      default: break
      }
      if case .idle = event { break }
    }
    #expect(
      notified == ["added 1", "added 2", "added 3"] + ["started a", "started b", "started c"])
  }

  // Fails if a position bypasses the capacity, or the closing of a manager.
  @Test("a full or closed manager refuses a step at every position")
  func refused() {
    let manager = PromiseManager(capacity: 1, diagnostics: .silent)
    manager.pause()
    let a = manager.add("a", log.appending("a"))
    let full = manager.add("b", at: .first, log.appending("b"))
    #expect(text(full.state) == "failed \(PromiseError.full(capacity: 1))")
    manager.close()
    let closed = manager.add("c", at: .before(a), log.appending("c"))
    #expect(text(closed.state) == "failed \(PromiseError.closed)")
    #expect((full.id, closed.id, closed.name) == (0, 0, "c"))
    #expect(!full.move(to: .first) && !closed.move(to: .last))
    #expect(a.move(to: .before(full)))
    manager.resumeAndWait()
    #expect(log.all == ["a"])
  }

  // Fails if a promise that is added first is not reserved, or begins outside its turn.
  @Test("a promise that is added first begins before the other waiting ones")
  func promise() async throws {
    manager.pause()
    add("a")
    let promise = Promise<Int> { [log] in
      log.append("promise")
      return 1
    }
    manager.add(promise, at: .first)
    promise.start()
    #expect(log.all.isEmpty)
    manager.resume()
    #expect(try await promise.value == 1)
    await manager.idle()
    #expect(log.all == ["promise", "a"])
  }

  // Fails if `run` or `enqueue` does not pass its position on.
  @Test("asynchronous work is added at the given position")
  func asynchronous() async throws {
    manager.pause()
    let a = add("a")
    let enqueued = manager.enqueue("b", at: .first) { [log] in log.append("b") }
    let running = Task { [manager, log] in
      try await manager.run("c", at: .before(a)) { log.append("c") }
    }
    await manager.waiting(3)
    manager.enqueue(at: .last) { [log] in log.append("d") }
    manager.resume()
    try await running.value
    try await enqueued.value
    await manager.idle()
    #expect(log.all == ["b", "c", "a", "d"])
  }

  // Fails if a position hides the error of `run`, or the task's cancellation from the step.
  @Test("asynchronous work at a position is refused and canceled like any other")
  func asynchronousRefused() async {
    let reports = Reports()
    let manager = PromiseManager(capacity: 2, diagnostics: reports.place)
    manager.pause()
    manager.add("a", log.appending("a"))
    let running = Task { [manager, log] in
      try await manager.run(at: .first) { log.append("b") }
    }
    await manager.waiting(2)
    let full = PromiseError.full(capacity: 2)
    await #expect(throws: full) { try await manager.run(at: .first) {} }
    #expect(await manager.enqueue(at: .first) {}.outcome == "failed \(full)")
    running.cancel()
    await #expect(throws: CancellationError.self) { try await running.value }
    manager.resumeAndWait()
    #expect(log.all == ["a"])
    #expect(reports.all.isEmpty)
  }

  // MARK: Moving

  // Fails if a step is moved to another position than requested, or other steps are moved.
  @Test("waiting steps are moved first, last and before others")
  func moving() {
    manager.pause()
    let steps = ["a", "b", "c", "d", "e"].map { add($0) }
    #expect(steps[3].move(to: .first))
    #expect(steps[0].move(to: .last))
    #expect(steps[4].move(to: .before(steps[1])))
    #expect(steps[2].move(to: .before(steps[2])), "moving a step before itself changes nothing")
    #expect(manager.waitingCount == 5)
    manager.resumeAndWait()
    #expect(log.all == ["d", "e", "b", "c", "a"])
  }

  // Fails if a running or ended step is put into the queue again.
  @Test("a running or ended step is not moved")
  func notWaiting() {
    let taken = Taken()
    let running = manager.add(taken.handler)
    let cancelled = add("a")
    add("b")
    cancelled.cancel()
    #expect(!running.move(to: .last))
    #expect(!cancelled.move(to: .first))
    taken.call()
    #expect(!running.move(to: .first))
    #expect(log.all == ["b"])
    #expect([running, cancelled].map { text($0.state) } == ["succeeded", "cancelled"])
  }

  // Fails if the position before a step that no longer waits is not the first.
  @Test("the position before a step that does not wait in this manager is the first")
  func withoutNeighbor() {
    let other = PromiseManager()
    other.pause()
    let foreign = other.add("foreign", log.appending("foreign"))
    let over = add("over")
    manager.pause()
    let cancelled = add("x")
    cancelled.cancel()
    add("a")
    add("b", at: .before(over))
    add("c", at: .before(cancelled))
    add("d", at: .before(foreign))
    #expect(add("e").move(to: .before(over)))
    manager.resumeAndWait()
    #expect(log.all == ["over", "e", "d", "c", "b", "a"])
    #expect(text(foreign.state) == "waiting")
  }

  // Fails if the manager looks a promise up in the slot that it has left.
  @Test("a waiting promise keeps its turn when it is moved, and can be canceled there")
  func movedPromise() async {
    manager.pause()
    let promises = (0...2).map { number in
      Promise<Int> { [log] in
        log.append("promise \(number)")
        return number
      }
    }
    let handles = promises.map { manager.add($0) }
    add("a").move(to: .before(handles[1]))
    handles[2].move(to: .first)
    handles[0].move(to: .last)
    for promise in promises { promise.start() }
    promises[0].cancel()
    #expect(log.all.isEmpty && text(handles[0].state) == "cancelled")
    manager.resume()
    await manager.idle()
    #expect(log.all == ["promise 2", "a", "promise 1"])
  }

  // Fails if the turn for a step added by a task runs another step that was added before it in the
  // queue.
  @Test("a turn for one step runs no other step that was placed before it")
  func onlyOne() {
    let lock = Locked(SerialOrder())
    var (order, consequences) = (SerialOrder(), Consequences?.none)
    var ids: [Int] = []
    for place in [StepPlace.last, .first] {
      var work: Work? = Work { _ in }
      let admission = order.add(&work, StepRecord(lock), at: place, lock: lock, owner: nil)
      if case .entered(_, let id, _) = admission { ids.append(id) }
    }
    order.beginTurn(only: ids[0], on: ThreadIdentity())
    #expect(order.next(&consequences).move == .handOver)
    order.beginTurn(only: ids[1], on: ThreadIdentity())
    let turn = order.next(&consequences)
    #expect(turn.move == .run && turn.id == ids[1])
    _ = order.handlerReturned(.called, &consequences)
    order.cancelWaiting(&consequences)
    consequences?.perform { _ in }
    while order.removeSegment() != nil {}
  }

  // MARK: Room

  private struct Parked {
    let handle: StepHandle
    let number: Int
  }

  /// Adds a step whose caller waits for room.
  private func park(_ number: Int, on manager: PromiseManager) -> Parked? {
    let admission = manager.order.transition { order, consequences in
      order.addWhenRoom(
        log.appending("\(number)"), StepRecord(manager.order), lock: manager.order, owner: nil,
        admitted: { [log] in log.append("room for \(number): \($0)") }, &consequences)
    }
    guard case .entered(let record, let id, _) = admission else { return nil }
    return Parked(handle: StepHandle(record, id: id), number: number)
  }

  // Fails if the position decides which caller is resumed first, a step runs whose caller is never
  // resumed, or a step that was moved to the front makes room for another.
  @Test("room is granted in the order of the calls, regardless of position")
  func room() throws {
    let manager = PromiseManager(capacity: 1)
    let taken = (0...1).map { _ in Taken() }
    manager.add(taken[0].handler)
    manager.add(taken[1].handler)
    let parked = try (1...3).map { try #require(park($0, on: manager)) }
    parked[2].handle.move(to: .first)
    #expect(log.all.isEmpty)
    #expect(manager.order.withLock { $0.backpressure.parked } == 3)
    taken[0].call()
    // The third step runs, then the second one of all, which leaves room for one.
    #expect(log.removeAll() == ["room for 3: true", "3", "room for 1: true"])
    parked[1].handle.move(to: .first)
    taken[1].call()
    #expect(log.all == ["room for 2: true", "2", "1"])
    #expect(manager.order.withLock { $0.backpressure.parked } == 0)
  }

  // Fails if canceled callers stay in the line.
  @Test("canceled callers behind one that stays leave the line")
  func line() throws {
    let manager = PromiseManager(capacity: 1)
    manager.pause()
    manager.add { then in then() }
    let stays = try #require(park(0, on: manager))
    for number in 1...10_000 { park(number, on: manager)?.handle.cancel() }
    #expect(manager.order.withLock { $0.backpressure.line.count } <= 32)
    #expect(log.removeAll().count == 10_000)
    stays.handle.cancel()
    #expect(manager.order.withLock { $0.backpressure.parked } == 0)
  }

  // MARK: Cost

  // Fails if a move visits more than a few segments, or leaves a slot behind each time.
  @Test("each of many moves among 10,000 steps visits a few slots", arguments: [false, true])
  func constantWork(isRunning: Bool) {
    let taken = Taken()
    if isRunning { manager.add(taken.handler) } else { manager.pause() }
    let handles = (0..<10_000).map { _ in manager.add { then in then() } }
    var random = SeededGenerator(seed: 1)
    var most = 0
    for _ in 1...(isLong ? 100_000 : 20_000 / ease) {
      let (step, other) = (
        handles.randomElement(using: &random), handles.randomElement(using: &random)
      )
      guard let step, let other else { return }
      let place: StepPlace =
        switch Int.random(in: 0..<4, using: &random) {
        case 0: .first
        case 1: .last
        default: .before(other)
        }
      let visited = manager.order.withLock { $0.move(step.id, step.record, to: place) }
      most = max(most, visited ?? .max)
    }
    #expect(most <= 4 * Segment.capacity)
    #expect(manager.segmentCount <= manager.waitingCount + 2)
    let visited = manager.order.transition { $0.cancelWaiting(&$1) }
    // The abandoned slots are in segments in which steps waited.
    #expect(visited <= 10_000 + 10_000 + 2 * Segment.capacity)
    #expect(manager.segmentCount <= 2)
    taken.call()
  }

  // Fails if the abandoned slot of a step is retained forever, or a step that is added between two
  // moves takes a whole segment.
  @Test("steps that alternate at the end of the queue leave nothing behind")
  func rotation() {
    manager.pause()
    let rotating = add("a")
    var slots = 0
    for _ in 1...10_000 {
      rotating.move(to: .first)
      rotating.move(to: .last)
    }
    #expect(manager.segmentCount <= 2)
    for _ in 1...1_000 {
      manager.add { then in then() }
      rotating.move(to: .last)
    }
    manager.order.withLock { order in
      var segment = order.queue.head
      while let current = segment {
        slots += current.end - current.base
        segment = current.next
      }
    }
    #expect(slots <= 2 * 1_001 + Segment.capacity)
    manager.resumeAndWait()
    #expect(log.all == ["a"])
  }

  // Fails if slots of ended steps are not counted when a segment is no longer the first, or the
  // remainder of a split segment becomes a segment without waiting steps.
  @Test("segments without waiting steps are released where they are")
  func released() {
    manager.pause()
    manager.add { [manager] then in
      manager.pause()
      then()
    }
    let second = add("second")
    add("last").move(to: .last)
    manager.resumeAndWait()
    add("first", at: .first)
    #expect(manager.segmentCount == 4, "those of first, second and last, and the end")
    second.cancel()
    #expect(manager.segmentCount == 3)
    let taken = Taken()
    manager.add(at: .first, taken.handler)
    onThread { [manager] in manager.resume() }
    // The waiting steps, the running one, and the end.
    #expect(manager.segmentCount == 4)
    taken.call()
    #expect(log.all == ["first", "last"])
  }

  // Fails if the remainder of a segment behind the running step is retained without a waiting step.
  @Test(
    "canceled steps behind the running one are released when another step is placed before them")
  func goneBehindRunning() {
    let taken = Taken()
    manager.add(taken.handler)
    let cancelled = add("canceled")
    add("last").move(to: .last)
    cancelled.cancel()
    add("first", at: .first)
    // The two waiting steps, the running one, and the end.
    #expect(manager.segmentCount == 4)
    taken.call()
    #expect(log.all == ["first", "last"])
  }

  // Fails if the record shared by dropped handles stays with the split segment: the next handle
  // would refer to another slot.
  @Test("a handle finds its step if the last segment was split before it was added")
  func cutBefore() {
    manager.pause()
    let a = add("a")
    manager.add(log.appending("b"))
    let c = add("c")
    manager.add(log.appending("d"))
    // Splits the segment between b and c.
    a.move(to: .before(c))
    let canceled = manager.add(log.appending("canceled"))
    canceled.cancel()
    #expect(manager.waitingCount == 4 && text(canceled.state) == "cancelled")
    manager.add(log.appending("e"))
    c.move(to: .first)
    let kept = manager.add(log.appending("kept"))
    kept.move(to: .before(a))
    #expect(text(kept.state) == "waiting")
    manager.resumeAndWait()
    #expect(log.all == ["c", "b", "kept", "a", "d", "e"])
    #expect(text(kept.state) == "succeeded")
  }

  // Fails if the work, the record or a segment of a moved step is retained.
  @Test("steps that were placed and moved leak nothing", arguments: [true, false])
  func nothingLeft(isRun: Bool) {
    weak var captured: Sentinel?
    weak var order: Locked<SerialOrder>?
    do {
      let (manager, sentinel) = (PromiseManager(), Sentinel())
      (captured, order) = (sentinel, manager.order)
      manager.pause()
      var handles: [StepHandle] = []
      for number in 0..<300 {
        let handler: Promisable.Handler = { then in
          sentinel.touch()
          then()
        }
        let place: StepPlace =
          number % 3 == 0 ? .first : handles.last.map { .before($0) } ?? .last
        handles.append(manager.add("\(number)", at: place, handler))
      }
      for (index, handle) in handles.enumerated() where index % 2 == 0 {
        handle.move(to: index % 4 == 0 ? .last : .before(handles[index / 2]))
      }
      if isRun { manager.resumeAndWait() }
    }
    #expect(captured == nil)
    #expect(order == nil)
  }

  // Overflows the stack if running or releasing a queue of one-step segments is recursive.
  @Test("many steps in segments of their own need a small stack", arguments: [true, false])
  func stack(isRun: Bool) {
    onThread(stackSize: 512 * 1024) {
      let manager = PromiseManager()
      manager.pause()
      for _ in 1...(isLong ? 200_000 : 20_000) { manager.add(at: .first) { then in then() } }
      if isRun { manager.resumeAndWait() }
    }
  }

  // MARK: At random

  // Fails if a segment is split, linked or removed at a wrong place, a handle loses its step, or
  // the queue does not continue where it was.
  @Test("random additions, moves and cancellations give the results of a list", arguments: 1...6)
  func random(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var handles: [StepHandle] = []
    var line: [Int] = []
    var expected: [String] = []
    manager.pause()
    for round in 1...30 {
      for _ in 1...Int.random(in: 1...150, using: &random) {
        let neighbor = line.randomElement(using: &random)
        let number = handles.count
        let way = Int.random(in: 0..<100, using: &random)
        let place: StepPlace
        switch way % 3 {
        case 0: place = .first
        case 1: place = .last
        default: place = neighbor.map { .before(handles[$0]) } ?? .last
        }
        func put(_ number: Int) {
          switch place {
          case .first: line.insert(number, at: 0)
          case .before: line.insert(number, at: line.firstIndex { $0 == neighbor } ?? line.endIndex)
          case .last: line.append(number)
          }
        }
        switch way {
        case 0..<40:
          handles.append(manager.add(log.appending("\(number)")))
          line.append(number)
        case 40..<55:
          handles.append(manager.add("\(number)", at: place, log.appending("\(number)")))
          put(number)
        case 55..<85:
          guard let moved = line.randomElement(using: &random) else { continue }
          handles[moved].move(to: place)
          if case .before = place, moved == neighbor { continue }
          line.removeAll { $0 == moved }
          put(moved)
        default:
          guard let index = line.indices.randomElement(using: &random) else { continue }
          handles[line.remove(at: index)].cancel()
        }
      }
      #expect(manager.waitingCount == line.count)
      #expect(manager.segmentCount <= line.count + 2)
      if round % 10 == 9 {
        manager.cancelAll()
        line = []
      } else if let last = line.indices.randomElement(using: &random), round % 3 == 0 {
        // Runs the steps up to one of them.
        let stops = manager.add("stop", at: .before(handles[line[last]])) { [manager] then in
          manager.pause()
          then()
        }
        expected += line[..<last].map(String.init)
        line.removeFirst(last)
        manager.resumeAndWait()
        #expect(text(stops.state) == "succeeded")
        #expect(log.all == expected)
        handles.append(stops)
      }
    }
    manager.resumeAndWait()
    #expect(log.all == expected + line.map(String.init))
    #expect(manager.segmentCount <= 2 && manager.waitingCount == 0)
  }
}
