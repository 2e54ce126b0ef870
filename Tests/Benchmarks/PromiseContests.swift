import Dispatch
import SerialPromises

/// All contests of promises and of asynchronous code.
func promiseContests(_ n: Int) -> [Contest] {
  [chain(n), addingPromises(n), awaitingSettled(n), awaitingOthers(n / 10), running(n / 10)]
}

/// Creates a chain of N links, and passes a value through it.
private func chain(_ n: Int) -> Contest {
  Contest(
    title: "a chain of \(n) `then`s: created, and passed through", unit: "link",
    subjects: [
      Subject(name: "floor") { Floor.time(n) / Double(n) },
      Subject(name: "Promise") { nanoseconds { passThroughChain(n) } / Double(n) },
      Subject(name: "Task") {
        nanoseconds {
          let gate = DispatchSemaphore(value: 0)
          waiting {
            var last = Task { 0 }
            for number in 0..<n { last = Task { [last] in await last.value &+ number } }
            _ = await last.value
            gate.signal()
          }
          gate.wait()
        } / Double(n)
      },
    ], against: "Task", targets: [.of("Promise", atMost: 500)])
}

/// The time to add a promise as a step, and to run it.
func promiseSteps(_ n: Int) -> Double {
  steps(n) { $0.add(Promise<Void> { deferred in deferred.fulfill(()) }) }
}

/// Adds N promises as steps, and runs them.
///
/// In one process, a closure step takes seven times as long after the promises: their memory is
/// scattered.
private func addingPromises(_ n: Int) -> Contest {
  let both = "a closure step and a promise"
  return Contest(
    title: "add \(n) promises as steps, then run them", unit: "step",
    subjects: [
      Subject(name: "a closure step") { steps(n) { $0.add { then in then() } } },
      Subject(name: both) {
        steps(n) {
          $0.add { then in then() }
          Promise<Void> { deferred in deferred.fulfill(()) }.start()
        }
      },
      Subject(name: "a promise as a step") { promiseSteps(n) },
    ], against: both,
    // Two closure steps and one promise.
    targets: [.of("a promise as a step", atMost: 1, times: both, plus: "a closure step")]
  ).isolated
}

/// The time for N calls of `add`, and for the steps that they add.
private func steps(_ n: Int, _ add: (PromiseManager) -> Void) -> Double {
  let manager = PromiseManager()
  return nanoseconds {
    manager.pause()
    for _ in 0..<n { add(manager) }
    manager.resume()
    try? manager.waitUntilIdle()
  } / Double(n)
}

extension Subject {
  /// The time of a task that awaits something N times.
  fileprivate init(
    _ name: String, awaits n: Int, _ work: @escaping @Sendable () async -> Void
  ) {
    self.init(name: name) { nanoseconds { waiting(for: work) } / Double(n) }
  }
}

/// A task awaits available values.
private func awaitingSettled(_ n: Int) -> Contest {
  // Only a few: with more, cache misses would dominate.
  let promises = (0..<1_000).map { Promise.value($0) }
  return Contest(
    title: "await \(n) available values", unit: "await",
    subjects: [
      Subject("checked continuation", awaits: n) {
        for number in 0..<n { _ = await withCheckedContinuation { $0.resume(returning: number) } }
      },
      Subject("Promise", awaits: n) {
        for number in 0..<n { _ = try? await promises[number % 1_000].value }
      },
    ], against: "checked continuation")
}

/// A task awaits values from another thread.
private func awaitingOthers(_ n: Int) -> Contest {
  let queue = DispatchQueue(label: "other")
  return Contest(
    title: "await \(n) values from another thread", unit: "await",
    subjects: [
      Subject("checked continuation", awaits: n) {
        for number in 0..<n {
          _ = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: number) }
          }
        }
      },
      Subject("Promise", awaits: n) {
        for number in 0..<n {
          let deferred = Deferred<Int>()
          queue.async { deferred.fulfill(number) }
          _ = try? await deferred.promise.value
        }
      },
    ], against: "checked continuation")
}

/// The minimum cost of asynchronous work whose value is awaited.
func continueInTasks(_ n: Int) async {
  for number in 0..<n {
    _ = await Task {
      await withCheckedContinuation { $0.resume(returning: number) }
    }.value
  }
}

/// A task awaits asynchronous work that runs in its turn.
private func running(_ n: Int) -> Contest {
  Contest(
    title: "\(n) times await manager.run { }", unit: "run",
    subjects: [
      Subject("continuation in a task", awaits: n) { await continueInTasks(n) },
      Subject("PromiseManager", awaits: n) {
        let manager = PromiseManager()
        for number in 0..<n { _ = try? await manager.run { number } }
      },
      Subject("PromiseManager, enqueue", awaits: n) {
        let manager = PromiseManager()
        for number in 0..<n { _ = try? await manager.enqueue { number }.value }
      },
    ], against: "continuation in a task",
    targets: [
      .of("PromiseManager", atMost: 1.3, times: "continuation in a task"),
      .of("PromiseManager, enqueue", atMost: 1.3, times: "PromiseManager"),
    ])
}
