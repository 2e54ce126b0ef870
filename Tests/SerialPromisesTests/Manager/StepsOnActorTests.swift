import Dispatch
import TestSupport
import Testing

@testable import SerialPromises

/// Steps whose handlers belong to an actor.
struct StepsOnActorTests {
  // Traps if a closure without an annotation belongs to no actor; fails if its step waits for a
  // turn of the main queue although it is next.
  @MainActor
  @Test("in code of the main actor, a closure belongs to it, and a step that is next runs at once")
  func inherited() {
    let manager = PromiseManager()
    for number in 1...3 {
      manager.add { then in
        MainActor.preconditionIsolated()
        log.append(number)
        then()
      }
    }
    #expect(log.all == [1, 2, 3])
  }

  private let log = Log<Int>()

  // Stops the program if a step whose handler has returned counts as one that needs this thread.
  @MainActor
  @Test("waitUntilIdle on the main thread waits for a step of the main actor that ends elsewhere")
  func blocking() throws {
    let manager = PromiseManager()
    manager.add { then in DispatchQueue.global().async { then() } }
    try manager.waitUntilIdle()
  }

  // Fails if the wait ends by its timeout without a report.
  @MainActor
  @Test("waitUntilIdle with a timeout on the main thread reports that a step has to run there")
  func blockingWait() {
    let reports = Reports()
    let manager = PromiseManager(diagnostics: reports.place)
    let gate = Gate()
    defer { gate.open() }
    manager.add { then in
      DispatchQueue.global().async {
        gate.block()
        then()
      }
    }
    manager.add { then in then() }
    #expect(throws: PromiseError.timedOut(.milliseconds(1))) {
      try manager.blockUntilIdle(timeout: .milliseconds(1))
    }
    #expect(reports.all.count == 1 && "\(reports.all)".contains("main thread"))
  }

  // Fails if the next handler runs inside the call of `then`: its `then` is forgotten, and its step
  // fails.
  @MainActor
  @Test("a delegate of the main actor may call its then and forget it afterwards")
  func forgetful() async {
    let (manager, delegate) = (PromiseManager(), Delegate())
    let steps = (1...3).map { _ in manager.add { then in delegate.then = then } }
    for step in steps {
      // Outside a task, as most delegates are called.
      DispatchQueue.main.async { MainActor.assumeIsolated { delegate.finish() } }
      #expect(text(await step.outcome) == "succeeded")
    }
  }

  @MainActor
  private final class Delegate {
    var then: Then?

    func finish() {
      then?()
      then = nil
    }
  }

  // Fails if the body of a promise or a cancel handler runs elsewhere.
  @Test("the body of a promise, and cancel handlers, run on their actor")
  func bodies() async {
    let (manager, stopped) = (PromiseManager(), Log<String>())
    let promise = Promise<Int> { @MainActor deferred in
      MainActor.preconditionIsolated()
      deferred.onCancel { @MainActor in
        MainActor.preconditionIsolated()
        stopped.append("promise")
      }
      manager.add { then in
        then.onCancel { @Elsewhere in
          Elsewhere.shared.preconditionIsolated()
          stopped.append("step")
          withExtendedLifetime(deferred) {}
          then(CancellationError())
        }
        promiseIsStarted.open()
      }
    }
    promise.start()
    await promiseIsStarted.passed()
    promise.cancel()
    manager.cancelAll()
    await manager.idle()
    await MainActor.run {}
    #expect(stopped.all.sorted() == ["promise", "step"])
    let called = Promise<Int> { @MainActor resolve, _ in
      MainActor.preconditionIsolated()
      resolve(1)
    }
    #expect(await called.outcome == "1")
  }

  private let promiseIsStarted = Gate()

  // Fails if the body runs, or the promise stays pending.
  @MainActor
  @Test("a promise that is canceled on the way to its actor never begins")
  func canceledBody() async {
    let begun = Log<Int>()
    let promise = Promise<Int> { @MainActor deferred in
      begun.append(1)
      deferred.fulfill(1)
    }
    onThread { promise.start() }
    promise.cancel()
    #expect(await promise.outcome == "failed \(CancellationError())")
    #expect(begun.all.isEmpty)
  }
}
