import Dispatch
import Foundation
import SerialPromises

/// Counts the closures that ran, and adds up their numbers.
final class Tally: @unchecked Sendable {
  // Sendable because only one step at a time accesses it: the serial order is what is measured.
  private(set) var count = 0
  private(set) var sum = 0

  /// A number per closure gives each closure its own context, as in real programs.
  func add(_ number: Int) {
    count += 1
    sum &+= number
  }
}

/// The minimal queue of closures: an array under a lock, and a loop.
final class Floor: @unchecked Sendable {
  // Sendable because of the lock, and because it runs after it has been filled.
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

  /// The time to add and run `n` closures.
  static func time(_ n: Int) -> Double {
    let floor = Floor()
    let tally = Tally()
    return nanoseconds {
      floor.add(n, counting: tally)
      floor.runAll()
      precondition(tally.count == n)
    }
  }
}

extension Floor {
  func add(_ n: Int, counting tally: Tally) {
    for number in 0..<n { add { tally.add(number) } }
  }
}

/// A queue that runs closures one at a time, and can hold them back.
protocol SerialQueue: AnyObject, Sendable {
  func pause()
  func resume()
  /// Adds `n` closures, each of which counts: the same work for every queue.
  func add(_ n: Int, counting tally: Tally)
  /// Waits until all closures have run.
  func finish()
}

extension SerialQueue {
  /// The time to add `n` closures and to run them, which may be held back until all are added.
  func time(_ n: Int, isHeldBack: Bool = false, _ add: (Self, Tally) -> Void) -> Double {
    let tally = Tally()
    return nanoseconds {
      if isHeldBack { pause() }
      add(self, tally)
      if isHeldBack { resume() }
      finish()
      precondition(tally.count == n)
    }
  }
}

extension PromiseManager: SerialQueue {
  func add(_ n: Int, counting tally: Tally) {
    for number in 0..<n {
      add { then in
        tally.add(number)
        then()
      }
    }
  }

  func finish() { try? waitUntilIdle() }
}

extension DispatchQueue: SerialQueue {
  func pause() { suspend() }

  func add(_ n: Int, counting tally: Tally) {
    for number in 0..<n { async { tally.add(number) } }
  }

  func finish() { sync {} }
}

/// An `OperationQueue` that runs one operation at a time.
final class SerialOperations: SerialQueue {
  let queue = OperationQueue()

  init() { queue.maxConcurrentOperationCount = 1 }

  func pause() { queue.isSuspended = true }
  func resume() { queue.isSuspended = false }

  func add(_ n: Int, counting tally: Tally) {
    for number in 0..<n { queue.addOperation { tally.add(number) } }
  }

  func finish() { queue.waitUntilAllOperationsAreFinished() }
}

/// Creates a chain of `n` links, and passes a value through it.
func passThroughChain(_ n: Int) {
  let deferred = Deferred<Int>()
  var last = deferred.promise
  for number in 0..<n { last = last.map { $0 &+ number } }
  deferred.fulfill(0)
  precondition((try? last.wait()) != nil)
}

/// Runs `work` on this many threads at once and returns when all have ended.
func onThreads(_ count: Int, _ work: @escaping @Sendable () -> Void) {
  DispatchQueue.concurrentPerform(iterations: count) { _ in work() }
}

/// Runs asynchronous work while the calling thread blocks.
func waiting(for work: @escaping @Sendable () async -> Void) {
  let done = DispatchSemaphore(value: 0)
  Task {
    await work()
    done.signal()
  }
  done.wait()
}
