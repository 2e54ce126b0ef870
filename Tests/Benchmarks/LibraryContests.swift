import Dispatch
import Foundation
import SerialPromises

/// All contests of the library.
func libraryContests(_ n: Int) -> [Contest] {
  [
    steps(n, heldBack: true), steps(n, heldBack: false), elsewhere(n),
    // In one process, the measurement before decides the result: a spread of up to 143 %.
    producers(2, n).isolated, producers(8, n).isolated,
  ]
}

/// Adds N steps, either to a suspended queue, or to one that runs them at once.
private func steps(_ n: Int, heldBack: Bool) -> Contest {
  let way = heldBack ? "then run them: each calls `then` at once" : "run at once"
  return Contest(
    title: "add \(n) steps, \(way)", unit: "step",
    subjects: [Subject(name: "floor") { Floor.time(n) / Double(n) }]
      + queues(n, isHeldBack: heldBack) { $0.add(n, counting: $1) }
      + [Subject(name: "AsyncStream") { nanoseconds { streamed(n) } / Double(n) }],
    against: "DispatchQueue",
    // Steps that run at once do not accumulate, so the floor does different work.
    targets: heldBack
      ? [
        .of("PromiseManager", atMost: 1.3, times: "floor"),
        .of("PromiseManager", atMost: 1 / 1.5, times: "DispatchQueue"),
      ] : [],
    picture: heldBack
      ? Contest.Picture(
        name: "steps", title: "The cost of a step that calls `then` at once", floor: "floor",
        floorLabel: "closures in a locked array", label: { "`\($0)`" },
        isOwn: { $0 == "PromiseManager" }) : nil)
}

/// The three queues, to each of which `add` adds N closures.
private func queues(
  _ n: Int, isHeldBack: Bool = false, _ add: @escaping (any SerialQueue, Tally) -> Void
) -> [Subject] {
  [
    queue("PromiseManager", { PromiseManager() }, n, isHeldBack: isHeldBack, add),
    queue("DispatchQueue", { DispatchQueue(label: "serial") }, n, isHeldBack: isHeldBack, add),
    queue("OperationQueue", { SerialOperations() }, n, isHeldBack: isHeldBack, add),
  ]
}

private func queue<Queue: SerialQueue>(
  _ name: String, _ make: @escaping () -> Queue, _ n: Int, isHeldBack: Bool,
  _ add: @escaping (Queue, Tally) -> Void
) -> Subject {
  Subject(name: name) { make().time(n, isHeldBack: isHeldBack, add) / Double(n) }
}

/// Sends N closures through a stream to a task that calls them.
private func streamed(_ n: Int) {
  let tally = Tally()
  let (stream, continuation) = AsyncStream.makeStream(of: Floor.Wrapped.self)
  for number in 0..<n { continuation.yield(Floor.Wrapped { tally.add(number) }) }
  continuation.finish()
  waiting(for: { for await step in stream { step.call() } })
  precondition(tally.count == n)
}

/// Each step ends on another thread, and calls `then` there.
private func elsewhere(_ n: Int) -> Contest {
  let other = DispatchQueue(label: "other")
  return Contest(
    title: "add \(n) steps that end on another thread: each calls `then` there", unit: "step",
    subjects: [
      Subject(name: "each dispatches the next") {
        let chain = DispatchChain(other)
        let tally = Tally()
        return nanoseconds {
          for number in 0..<n { chain.add { tally.add(number) } }
          chain.run()
          precondition(tally.count == n)
        } / Double(n)
      },
      queue("PromiseManager", { PromiseManager() }, n, isHeldBack: true) { manager, tally in
        for number in 0..<n {
          manager.add { then in
            other.async {
              tally.add(number)
              then()
            }
          }
        }
      },
      // The usual form of such a block: an operation cannot end later than its block, except with a
      // subclass that manages its own state.
      queue("OperationQueue", { SerialOperations() }, n, isHeldBack: true) { operations, tally in
        for number in 0..<n {
          operations.queue.addOperation {
            let done = DispatchSemaphore(value: 0)
            other.async {
              tally.add(number)
              done.signal()
            }
            done.wait()
          }
        }
      },
    ], against: "OperationQueue",
    targets: [
      .of("PromiseManager", atMost: 2, times: "each dispatches the next"),
      .of("PromiseManager", atMost: 1 / 5, times: "OperationQueue"),
    ])
}

/// The minimal serial execution of closures on another queue: each dispatches the next.
private final class DispatchChain: @unchecked Sendable {
  // Sendable because it is filled before it runs, and runs one closure at a time.
  private let queue: DispatchQueue
  private var waiting: [Floor.Wrapped] = []
  private let done = DispatchSemaphore(value: 0)

  init(_ queue: DispatchQueue) { self.queue = queue }

  func add(_ call: @escaping @Sendable () -> Void) { waiting.append(Floor.Wrapped(call: call)) }

  func run() {
    go(on: 0)
    done.wait()
  }

  private func go(on index: Int) {
    guard index < waiting.count else {
      done.signal()
      return
    }
    queue.async {
      self.waiting[index].call()
      self.go(on: index + 1)
    }
  }
}

/// Several threads add at the same time.
private func producers(_ threads: Int, _ n: Int) -> Contest {
  let share = n / threads
  return Contest(
    title: "\(threads) threads add \(share) steps each", unit: "step",
    subjects: queues(threads * share) { queue, tally in
      onThreads(threads) { queue.add(share, counting: tally) }
    }, against: "DispatchQueue",
    targets: [.of("PromiseManager", atMost: 1, times: "DispatchQueue")])
}
