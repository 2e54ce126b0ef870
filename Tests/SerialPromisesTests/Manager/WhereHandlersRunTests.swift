import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Threads, queues and actors of handlers, and how long a thread is held.
struct WhereHandlersRunTests {
  /// Where handlers without an actor run: anywhere, on a queue, or on the main queue.
  enum Turns: CaseIterable, Sendable {
    case anywhere, onQueue, onMain

    private static let key = DispatchSpecificKey<Bool>()

    var manager: PromiseManager {
      switch self {
      case .anywhere: return PromiseManager()
      case .onQueue:
        let queue = DispatchQueue(label: "steps")
        queue.setSpecific(key: Self.key, value: true)
        return PromiseManager(on: queue)
      case .onMain: return PromiseManager(on: .main)
      }
    }

    /// Whether the caller is there.
    var isHere: Bool {
      switch self {
      case .anywhere: true
      case .onQueue: DispatchQueue.getSpecific(key: Self.key) == true
      case .onMain: onMainActor()
      }
    }
  }

  enum Isolation: CaseIterable { case none, mainActor, actor }

  /// The ways to add a step.
  enum Adder: CaseIterable, Sendable {
    case add, named, step, several, whenRoom, limited
    case enqueue, run, promise, retried

    func add(
      to manager: PromiseManager, _ handler: @escaping @isolated(any) @Sendable (Then) -> Void,
      orWork work: @escaping @isolated(any) @Sendable () async -> Void
    ) async throws {
      switch self {
      case .add: manager.add(handler)
      case .named: manager.add("named", at: .last, handler)
      case .step: manager.add(Step("step", handler))
      case .several: manager.add(contentsOf: [Step("one of several", handler)])
      case .whenRoom: _ = try await manager.addWhenRoom(handler)
      case .limited:
        manager.add(Step(nil, handler).timeout(.seconds(3600), clock: ManualClock()))
      case .enqueue: manager.enqueue(work)
      case .run: try await manager.run(work)
      case .promise: manager.add(Promise<Void>(nil, work))
      case .retried: manager.add(Promise<Void>(nil, work).retry(1))
      }
    }
  }

  // Fails if a handler or work runs elsewhere, out of order, or before the preceding one has
  // returned: some call `then` first.
  @Test(
    "each step runs where its closure belongs, or else where its manager runs handlers, in order",
    .shows(Managing.onActor, Managing.onQueue), arguments: Adder.allCases, Turns.allCases)
  func places(_ adder: Adder, _ turns: Turns) async throws {
    let (manager, log) = (turns.manager, Log<String>())
    for number in 0..<50 {
      try await adder.add(to: manager) { @MainActor then in
        MainActor.preconditionIsolated()
        then()
        log.append("main \(number)")
      } orWork: { @MainActor in
        await Task.yield()
        MainActor.preconditionIsolated()
        log.append("main \(number)")
      }
      try await adder.add(to: manager) { @Elsewhere then in
        Elsewhere.shared.preconditionIsolated()
        if number % 2 == 0 { then() } else { DispatchQueue.global().async { then() } }
        log.append("actor \(number)")
      } orWork: { @Elsewhere in
        await Task.yield()
        Elsewhere.shared.preconditionIsolated()
        log.append("actor \(number)")
      }
      try await adder.add(to: manager) { then in
        log.append("\(turns.isHere ? "free" : "elsewhere") \(number)")
        then()
      } orWork: {
        log.append("free \(number)")
      }
    }
    await manager.idle()
    #expect(log.all == (0..<50).flatMap { ["main \($0)", "actor \($0)", "free \($0)"] })
  }

  // Fails if a turn begins outside the queue: in `add`, in `then`, or when a turn hands over.
  @Test(
    "with on:, handlers run there, regardless of the thread that calls add or then",
    .shows(Managing.onQueue), arguments: [Turns.onQueue, .onMain])
  func onQueue(_ turns: Turns) async {
    let (manager, log) = (turns.manager, Log<Bool>())
    manager.pause()
    // More than the 128 steps of one turn.
    for index in 0..<500 {
      manager.add { then in
        log.append(turns.isHere)
        if index.isMultiple(of: 50) { Task.detached { then() } } else { then() }
      }
    }
    manager.resume()
    await manager.idle()
    #expect(log.all == Array(repeating: true, count: 500))
  }

  /// The call that begins a turn.
  enum Beginning: String, CaseIterable, Sendable {
    case add, resume, then

    /// Lets this call run what is added.
    ///
    /// - Returns: The call.
    func prepare(
      _ manager: PromiseManager, _ add: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
      switch self {
      case .add: return add
      case .resume:
        manager.pause()
        add()
        return { manager.resume() }
      case .then:
        let taken = manager.hold()
        add()
        return { _ = taken.with { $0() } }
      }
    }
  }

  // Fails if `add` dispatches the first step to a queue, `resume` the waiting ones, or `then` the
  // next ones.
  @Test(
    "handlers run on the thread that adds to an idle manager, resumes, or calls the preceding then",
    .shows(Managing.thread), arguments: Beginning.allCases)
  func thread(_ beginning: Beginning) {
    let (manager, log, caller) = (PromiseManager(), Log<UInt>(), Log<UInt>())
    let begin = beginning.prepare(manager) {
      // Only two: a third one may exceed the few milliseconds of a turn if this thread is delayed.
      for _ in 1...2 {
        manager.add { then in
          log.append(currentThread())
          then()
        }
      }
    }
    onThread {
      caller.append(currentThread())
      begin()
    }
    #expect(log.all == caller.all + caller.all)
    #expect(caller.all != [currentThread()])
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
    let (manager, returned) = (PromiseManager(), Gate())
    let begin = beginning.prepare(manager) {
      manager.add { then in
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
        then()
      }
    }
    onThread {
      begin()
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
  @TaskLocal private static var task = "none"

  // Fails if a step that ends in a task runs the next handlers in that task.
  @Test(
    "a handler sees no task of another step, and runs on no thread of the cooperative pool",
    .shows(Managing.context))
  func context() async throws {
    let (manager, other, log) = (PromiseManager(), PromiseManager(), Log<String>())
    let (added, begun) = (Gate(), Gate())
    let look = { @Sendable in
      let isInTask = withUnsafeCurrentTask { $0 != nil }
      log.append("\(Self.task) \(isInTask) \(Task.isCancelled)")
    }
    let closure: Promisable.Handler = { then in
      look()
      then()
    }
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
      // Ends in a task of the step, which must not be visible to the next one.
      let endsInTask: Promisable.Handler = { then in
        Self.$task.withValue("C") { _ = Task<Void, Never> { then() } }
      }
      manager.add(closure)
      manager.add(Promise<Void> { () async in look() })
      manager.add(endsInTask)
      manager.add(closure)
      manager.add(endsInTask)
      manager.add { @MainActor then in
        log.append("main \(Self.task)")
        then()
      }
      manager.add { @Elsewhere then in
        log.append("actor \(Self.task)")
        then()
      }
    }
    await other.idle()
    task.cancel()
    added.open()
    _ = try? await task.value
    await manager.idle()
    let (handler, work) = ("none false false", "none true false")
    #expect(log.all == [handler, handler, work, handler, "main none", "actor none"])
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
        let code = HeldCode()
        group.addTask { try? await manager.run { await code() } }
        group.addTask {
          await code.begun.passed()
          manager.add { then in
            gate.block()
            then()
          }
          code.proceed.open()
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
