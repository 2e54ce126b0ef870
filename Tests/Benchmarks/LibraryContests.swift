import Dispatch
import Foundation
import SerialPromises

/// Counts what ran.
final class Tally: @unchecked Sendable {
  // Sendable because only one step at a time touches it, which is what is measured.
  private(set) var count = 0
  private(set) var sum = 0

  /// Given a number of its own, a closure has a context of its own, as closures in earnest have.
  func add(_ number: Int) {
    count += 1
    sum &+= number
  }
}

/// The least that holds closures for later: an array under a lock, and a loop.
final class Floor: @unchecked Sendable {
  struct Wrapped { let call: @Sendable () -> Void }

  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var waiting: [Wrapped] = []

  init() {
    lock.initialize(to: pthread_mutex_t())
    pthread_mutex_init(lock, nil)
  }

  deinit {
    pthread_mutex_destroy(lock)
    lock.deallocate()
  }

  func add(_ call: @escaping @Sendable () -> Void) {
    pthread_mutex_lock(lock)
    waiting.append(Wrapped(call: call))
    pthread_mutex_unlock(lock)
  }

  func runAll() {
    for wrapped in waiting { wrapped.call() }
    waiting = []
  }
}

func serialOperations() -> OperationQueue {
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 1
  return queue
}

/// Runs `work` on this many threads at once and returns when all are done.
func onThreads(_ count: Int, _ work: @escaping @Sendable () -> Void) {
  DispatchQueue.concurrentPerform(iterations: count) { _ in work() }
}

/// All rows of the library.
func libraryContests(_ n: Int) -> [Contest] {
  [
    steps(n, heldBack: true), steps(n, heldBack: false), producers(2, n), producers(8, n),
  ]
}

/// N steps are added, either while nothing runs, or to a queue that runs them as they come.
private func steps(_ n: Int, heldBack: Bool) -> Contest {
  let way = heldBack ? "then run them: each calls `then` at once" : "run as they come"
  return Contest(
    title: "add \(n) steps, \(way)", unit: "step",
    subjects: [
      Subject(name: "floor") {
        let floor = Floor()
        let tally = Tally()
        return nanoseconds {
          for number in 0..<n { floor.add { tally.add(number) } }
          floor.runAll()
          precondition(tally.count == n)
        } / Double(n)
      },
      Subject(name: "PromiseManager") {
        let manager = PromiseManager()
        let tally = Tally()
        return nanoseconds {
          if heldBack { manager.pause() }
          for number in 0..<n {
            manager.add { then in
              tally.add(number)
              then()
            }
          }
          if heldBack { manager.resume() }
          precondition(tally.count == n)
        } / Double(n)
      },
      Subject(name: "DispatchQueue") {
        let queue = DispatchQueue(label: "serial")
        let tally = Tally()
        return nanoseconds {
          if heldBack { queue.suspend() }
          for number in 0..<n { queue.async { tally.add(number) } }
          if heldBack { queue.resume() }
          queue.sync { precondition(tally.count == n) }
        } / Double(n)
      },
      Subject(name: "OperationQueue") {
        let queue = serialOperations()
        let tally = Tally()
        return nanoseconds {
          queue.isSuspended = heldBack
          for number in 0..<n { queue.addOperation { tally.add(number) } }
          queue.isSuspended = false
          queue.waitUntilAllOperationsAreFinished()
          precondition(tally.count == n)
        } / Double(n)
      },
    ], against: "DispatchQueue")
}

/// Several threads add at once.
private func producers(_ threads: Int, _ n: Int) -> Contest {
  let share = n / threads
  return Contest(
    title: "\(threads) threads add \(share) steps each", unit: "step",
    subjects: [
      Subject(name: "PromiseManager") {
        let manager = PromiseManager()
        let tally = Tally()
        return nanoseconds {
          onThreads(threads) {
            for number in 0..<share {
              manager.add { then in
                tally.add(number)
                then()
              }
            }
          }
          try? manager.waitUntilIdle()
          precondition(tally.count == threads * share)
        } / Double(threads * share)
      },
      Subject(name: "DispatchQueue") {
        let queue = DispatchQueue(label: "serial")
        let tally = Tally()
        return nanoseconds {
          onThreads(threads) {
            for number in 0..<share { queue.async { tally.add(number) } }
          }
          queue.sync { precondition(tally.count == threads * share) }
        } / Double(threads * share)
      },
      Subject(name: "OperationQueue") {
        let queue = serialOperations()
        let tally = Tally()
        return nanoseconds {
          onThreads(threads) {
            for number in 0..<share { queue.addOperation { tally.add(number) } }
          }
          queue.waitUntilAllOperationsAreFinished()
          precondition(tally.count == threads * share)
        } / Double(threads * share)
      },
    ], against: "DispatchQueue")
}
