import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Threads and queues of handlers, and how long a thread is held.
struct WhereHandlersRunTests {
  /// The call that begins a turn.
  enum Beginning: String, CaseIterable, Sendable { case add, resume, then }

  // Fails if `add` dispatches the first step to a queue, `resume` the waiting ones, or `then` the
  // next ones.
  @Test(
    "handlers run on the thread that adds to an idle manager, resumes, or calls the preceding then",
    .shows(Managing.thread), arguments: Beginning.allCases)
  func thread(_ beginning: Beginning) {
    let (manager, taken, log) = (PromiseManager(), Taken(), Log<UInt>())
    if beginning == .resume { manager.pause() }
    if beginning == .then { manager.add(taken.handler) }
    // Only two: a third one may exceed the few milliseconds of a turn if this thread is delayed.
    let add = { @Sendable in
      for _ in 1...2 {
        manager.add { then in
          log.append(currentThread())
          then()
        }
      }
    }
    if beginning != .add { add() }
    let caller = Log<UInt>()
    onThread {
      caller.append(currentThread())
      switch beginning {
      case .add: add()
      case .resume: manager.resume()
      case .then: taken.with { $0() }
      }
    }
    #expect(log.all == caller.all + caller.all)
    #expect(caller.all != [currentThread()])
  }

  // Fails if a turn begins outside the queue: in `add`, in `then`, or when a turn hands over.
  @Test(
    "with on:, handlers run on that queue, regardless of the thread that calls add or then",
    .shows(Managing.onQueue))
  func onQueue() async {
    let key = DispatchSpecificKey<String>()
    let queue = DispatchQueue(label: "steps")
    queue.setSpecific(key: key, value: "steps")
    let (manager, log) = (PromiseManager(on: queue), Log<String?>())
    manager.pause()
    // More than the 128 steps of one turn.
    for index in 0..<500 {
      manager.add { then in
        log.append(DispatchQueue.getSpecific(key: key))
        if index.isMultiple(of: 50) { Task { then() } } else { then() }
      }
    }
    manager.resume()
    await manager.idle()
    #expect(log.count == 500)
    #expect(Set(log.all) == ["steps"])
  }

  // Traps if `on:` is ignored: both `add` and `then` are called elsewhere.
  @Test("with on: .main, handlers run on the main actor", .shows(Managing.onQueue))
  func onMain() async {
    let (manager, log) = (PromiseManager(on: .main), Log<Int>())
    for number in 1...3 {
      manager.add { then in
        MainActor.assumeIsolated { log.append(number) }
        Task.detached { then() }
      }
    }
    await manager.idle()
    #expect(log.all == [1, 2, 3])
  }

  // Hangs if the turn of the adding thread has no bound.
  @Test(
    "a step that adds itself repeatedly does not hold the adding thread", .shows(Managing.drain))
  func endless() async {
    let (manager, stop) = (PromiseManager(), Gate())
    @Sendable func step(_ then: Then) {
      if !stop.isOpen { manager.add(step) }
      then()
    }
    onThread { manager.add(step) }
    // `add` has returned, and the steps continue.
    #expect(!stop.isOpen)
    stop.open()
    await manager.idle()
  }

  // Hangs if a turn continues although the handlers are slow: the third waits for its end.
  @Test(
    "a thread that runs slow handlers is released after a few milliseconds",
    .shows(Managing.drain), arguments: Beginning.allCases)
  func slow(_ beginning: Beginning) async {
    let (manager, taken, returned) = (PromiseManager(), Taken(), Gate())
    if beginning == .resume { manager.pause() }
    if beginning == .then { manager.add(taken.handler) }
    let rest = { @Sendable in
      for number in 1...4 {
        manager.add { then in
          let start = DispatchTime.now().uptimeNanoseconds
          if number < 3 {
            while DispatchTime.now().uptimeNanoseconds < start + 2 * TurnClock.limit {}
          } else {
            returned.block()
          }
          then()
        }
      }
    }
    if beginning != .add { rest() }
    onThread {
      switch beginning {
      case .add:
        manager.add { then in
          rest()
          then()
        }
      case .resume: manager.resume()
      case .then: taken.with { $0() }
      }
      returned.open()
    }
    await manager.idle()
  }

  // Fails if the clock is read for every handler, for none, or too late.
  @Test("a turn ends by time, and fast handlers are not timed individually", .shows(Managing.drain))
  func clock() {
    for (nanoseconds, most) in [(100, 40_020), (10_000, 410), (1_000_000, 6), (5_000_000, 2)] {
      var (clock, now, looks, handlers) = (TurnClock(), UInt64(1_000), 0, 0)
      let read = { () -> UInt64 in
        looks += 1
        return now
      }
      var isOver = false
      while !isOver {
        clock.handlerBegins(now: read)
        now += UInt64(nanoseconds)
        handlers += 1
        isOver = clock.handlerReturned(now: read)
      }
      // The first handler is not timed.
      let least = Int(TurnClock.limit) / nanoseconds
      #expect(handlers >= least && handlers <= most, "\(nanoseconds) ns")
      #expect(looks <= handlers / (nanoseconds < 10_000 ? 15 : 1) + 3, "\(nanoseconds) ns")
    }
    var clock = TurnClock()
    clock.handlerBegins { 1 }
    // A turn of one handler does not read the clock.
    #expect(!clock.handlerReturned { preconditionFailure("the clock is read") })
  }

  /// A value seen by a task and its child tasks.
  @TaskLocal static var task = "none"

  // Fails if a step that ends in a task runs the next handlers in that task.
  @Test(
    "a handler sees no task of another step, and runs on no thread of the cooperative pool",
    .shows(Managing.context))
  func context() async throws {
    let (manager, log, added, begun) = (PromiseManager(), Log<String>(), Gate(), Gate())
    let look = { @Sendable in
      let isInTask = withUnsafeCurrentTask { $0 != nil }
      log.append("\(Self.task) \(isInTask) \(Task.isCancelled)")
    }
    let closure: Promisable.Handler = { then in
      look()
      then()
    }
    let other = PromiseManager()
    let task = Self.$task.withValue("A") {
      Task<Void, any Error> {
        try await manager.run {
          // Also adds to another manager, where the added step is not its own work.
          other.add(closure)
          begun.open()
          await added.passed()
          await Task.yield()
        }
      }
    }
    await begun.passed()
    Self.$task.withValue("B") {
      manager.add(closure)
      manager.add(Promise<Void> { () async in look() })
      // Ends in a task of the step, which must not be visible to the next one.
      manager.add { then in
        Self.$task.withValue("C") { _ = Task<Void, Never> { then() } }
      }
      manager.add(closure)
    }
    await other.idle()
    task.cancel()
    added.open()
    _ = try? await task.value
    await manager.idle()
    let (handler, work) = ("none false false", "none true false")
    #expect(log.all == [handler, handler, work, handler])
  }

  // Fails if a task whose step has just been canceled runs another step.
  @Test(
    "a turn for one step runs no other, even if that step has been canceled",
    .shows(Managing.context), arguments: [false, true], [0, 63, 64])
  func onlyOne(isCancelled: Bool, before: Int) {
    let lock = Locked(SerialOrder())
    var order = SerialOrder()
    func add() -> (StepRecord, Int)? {
      var work: Work? = Work { _ in }
      guard
        case .entered(let record, let id, _) = order.add(
          &work, StepRecord(lock), lock: lock, owner: nil)
      else { return nil }
      return (record, id)
    }
    for _ in 0..<before {
      _ = add()
      while order.next(.all, on: ThreadIdentity()).move == .again {}
      _ = order.handlerReturned(.called, .all, on: ThreadIdentity())
    }
    guard let (record, id) = add(), add() != nil else { return #expect(Bool(false)) }
    if isCancelled { order.cancel(id, record) }
    var moves: [SerialOrder.Turn.Move] = []
    repeat {
      let turn = order.next(.only(id), on: ThreadIdentity())
      moves.append(turn.move)
      #expect(turn.move != .run || turn.id == id)
    } while moves.last == .again
    #expect(moves.last == (isCancelled ? .depart(ticket: 1) : .run))
    order.takeEffects().perform { _ in }
    while order.line.queue.removeSegment() != nil {}
  }

  // Hangs if the end of a `run` calls handlers on a thread of the cooperative pool.
  @Test("handlers that block do not hold the threads that tasks run on", .shows(Managing.context))
  func blocking() async {
    let (managers, gate) = ((0..<8).map { _ in PromiseManager() }, Gate())
    await withTaskGroup(of: Void.self) { group in
      for manager in managers {
        let (begun, added) = (Gate(), Gate())
        group.addTask {
          try? await manager.run {
            begun.open()
            await added.passed()
          }
        }
        group.addTask {
          await begun.passed()
          manager.add { then in
            gate.block()
            then()
          }
          added.open()
        }
      }
      // Reached only if tasks still run.
      group.addTask {
        for _ in 0..<100 { await Task.yield() }
        gate.open()
      }
    }
    for manager in managers { await manager.idle() }
  }
}
