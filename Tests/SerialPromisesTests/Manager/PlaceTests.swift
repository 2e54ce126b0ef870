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

  /// A step that does not wait in the manager.
  enum Neighbor: CaseIterable { case over, running, canceled, ofAnotherManager, refused }

  // Fails if the position before such a step is not the first, or its own is not the last; if it is
  // asked to stop, or runs.
  @Test(
    "beside a step that does not wait in this manager, before is the first place and replacing the last",
    arguments: Neighbor.allCases)
  func withoutNeighbor(_ kind: Neighbor) {
    let (taken, other) = (Taken(), PromiseManager(diagnostics: .silent))
    other.pause()
    if kind == .refused { other.close() }
    let over = add("over")
    let running = manager.add(taken.handler)
    add("a")
    let neighbor =
      switch kind {
      case .over: over
      case .running: running
      case .canceled: add("canceled")
      case .ofAnotherManager, .refused: other.add(log.appending("another"))
      }
    if kind == .canceled { neighbor.cancel() }
    let state = text(neighbor.state)
    add("before", at: .before(neighbor))
    #expect(add("moved").move(to: .before(neighbor)))
    add("last", at: .replacing(neighbor))
    #expect(text(neighbor.state) == state && taken.with(\.isCancelled) == false)
    taken.call()
    #expect(log.all == ["over", "moved", "before", "a", "last"])
  }

  // Fails if a full manager refuses the step, or the replaced one makes room for an adder.
  @Test("a full manager takes a step that replaces another one, and has no more room than before")
  func replacingInFull() throws {
    let manager = PromiseManager(capacity: 1, diagnostics: .silent)
    manager.pause()
    let old = manager.add(log.appending("old"))
    let parked = try #require(park(1, on: manager))
    let refused = manager.add(at: .last, log.appending("x"))
    #expect(text(refused.state).contains("full") && old.move(to: .before(refused)))
    let new = manager.add(at: .replacing(old), log.appending("new"))
    #expect(text(old.state) == "cancelled" && text(new.state) == "waiting")
    #expect(log.all.isEmpty)
    // The adder of the replaced step learns it, and no other adder does.
    _ = park(2, on: manager)
    let third = manager.add(at: .replacing(parked), log.appending("third"))
    #expect(text(third.state) == "waiting")
    #expect(log.removeAll() == ["room for 1: false"])
    manager.close()
    #expect(text(manager.add(at: .replacing(third), log.appending("y")).state).contains("closed"))
    #expect(text(third.state) == "waiting")
    manager.resumeAndWait()
    #expect(log.all == ["new", "room for 2: true", "third", "2"])
  }

  // Fails if a kind of step does not replace, or cannot be replaced.
  @Test("steps of every kind replace and are replaced")
  func replacingEveryKind() async throws {
    let (manager, log) = (manager, log)
    manager.pause()
    let first = add("closure")
    let promise = Promise { log.append("promise") }
    let second = manager.add(promise, at: .replacing(first))
    let third = manager.add(Step("step", log.appending("step")), at: .replacing(second))
    await #expect(throws: CancellationError.self) { try await promise.value }
    let enqueued = manager.enqueue(at: .replacing(third)) { log.append("enqueued") }
    let moved = add("moved")
    let other = add("other")
    moved.move(to: .replacing(moved))
    #expect(text(moved.state) == "waiting")
    let run = Task { try await manager.run(at: .replacing(moved)) { log.append("run") } }
    while text(moved.state) == "waiting" { await Task.yield() }
    let turn = Task { try await manager.withTurn(at: .replacing(other)) { log.append("turn") } }
    while text(other.state) == "waiting" { await Task.yield() }
    manager.resume()
    try await enqueued.value
    try await run.value
    try await turn.value
    #expect(log.all == ["enqueued", "run", "turn"])
  }

  // MARK: Room

  /// Adds a step whose caller waits for room.
  private func park(_ number: Int, on manager: PromiseManager) -> StepHandle? {
    manager.park(log.appending("\(number)")) { [log] in log.append("room for \(number): \($0)") }
  }

  // Fails if canceled callers stay in the line.
  @Test("canceled callers behind one that stays leave the line")
  func line() throws {
    let manager = PromiseManager(capacity: 1)
    manager.pause()
    manager.add { then in then() }
    let stays = try #require(park(0, on: manager))
    for number in 1...10_000 { park(number, on: manager)?.cancel() }
    #expect(manager.order.withLock { $0.line.backpressure.line.count } <= 32)
    #expect(log.removeAll().count == 10_000)
    stays.cancel()
    #expect(manager.order.withLock { $0.line.backpressure.parked } == 0)
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
    let visited = manager.order.transition { $0.cancelWaiting() }
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

  // MARK: At random

  // Fails if a segment is split, linked or removed at a wrong place, a handle loses its step, the
  // queue does not continue where it was, or a sweep leaves it in an order that a list does not
  // have.
  @Test(
    "random additions, moves and cancellations give the results of a list", arguments: 1...6,
    [false, true])
  func random(_ seed: UInt64, isRunning: Bool) throws {
    var random = SeededGenerator(seed: seed)
    var handles: [StepHandle] = []
    var line: [Int] = []
    var expected: [String] = []
    let (rounds, most) = isRunning ? (100 / ease, 40) : (30, 150)
    if !isRunning { manager.pause() }
    for round in 1...rounds {
      let running = Taken()
      if isRunning { manager.add("running", running.handler) }
      for _ in 1...Int.random(in: 1...most, using: &random) {
        let neighbor = line.randomElement(using: &random)
        let number = handles.count
        let way = Int.random(in: 0..<100, using: &random)
        let place: StepPlace
        switch way % 7 {
        case 0, 1: place = .first
        case 2, 3: place = .last
        case 4: place = neighbor.map { .replacing(handles[$0]) } ?? .last
        default: place = neighbor.map { .before(handles[$0]) } ?? .last
        }
        func put(_ number: Int) {
          switch place {
          case .first: line.insert(number, at: 0)
          case .before: line.insert(number, at: line.firstIndex { $0 == neighbor } ?? line.endIndex)
          case .last: line.append(number)
          case .replacing: line = line.map { $0 == neighbor ? number : $0 }
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
          #expect(handles[moved].move(to: place))
          switch place {
          case .before where moved == neighbor, .replacing where moved == neighbor: continue
          default: break
          }
          line.removeAll { $0 == moved }
          put(moved)
        case 85... where isRunning && way.isMultiple(of: 2):
          if way.isMultiple(of: 4) { manager.cancelAll() } else { manager.cancelWaiting() }
          line = []
        default:
          guard let index = line.indices.randomElement(using: &random) else { continue }
          handles[line.remove(at: index)].cancel()
        }
      }
      if round % 4 == 1, let start = line.indices.randomElement(using: &random) {
        // So many in a row that segments lose all of theirs.
        let range = start..<min(start + 100, line.endIndex)
        for number in line[range].shuffled(using: &random) { handles[number].cancel() }
        line.removeSubrange(range)
      }
      try #require(manager.waitingCount == line.count, "round \(round)")
      if isRunning {
        try #require(manager.runningStep?.name == "running", "round \(round)")
        running.call()
        try manager.waitUntilIdle(timeout: .seconds(60))
        try #require(log.removeAll() == line.map(String.init), "round \(round)")
        line = []
      } else if round % 10 == 9 {
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
