import TestSupport
import Testing

@testable import SerialPromises

/// `cancelWaiting`, which spares the running step, and the properties that describe the manager's
/// state.
struct CancelWaitingTests {
  // Fails if the running step is asked to stop, a waiting one runs, or a step added later is
  // canceled.
  @Test("cancelWaiting ignores the running step and steps added afterwards")
  func spares() {
    let (manager, taken, log) = (PromiseManager(), Taken(), Log<String>())
    let handler = taken.handler
    let running = manager.add { then in
      then.onCancel { log.append("notified") }
      handler(then)
    }
    let waiting = (1...3).map { number in
      manager.add(log.appending("\(number)"))
    }
    manager.cancelWaiting()
    #expect(manager.waitingCount == 0)
    #expect(taken.with(\.isCancelled) == false)
    #expect(waiting.map { text($0.state) } == ["cancelled", "cancelled", "cancelled"])
    let later = manager.add(log.appending("later"))
    taken.call()
    #expect(text(running.state) == "succeeded")
    #expect(text(later.state) == "succeeded")
    #expect(log.all == ["later"])
  }

  // Fails if a suspended caller is resumed with room; hangs if it is not resumed.
  @Test(
    "cancelWaiting and cancelAll make the callers that wait for room throw",
    arguments: [true, false])
  func parked(isAll: Bool) async {
    let (manager, taken) = (PromiseManager(capacity: 1), Taken())
    manager.add(taken.handler)
    manager.add { then in then() }
    let adder = Task { try await manager.addWhenRoom { then in then() } }
    await manager.waiting(2)
    if isAll { manager.cancelAll() } else { manager.cancelWaiting() }
    await #expect(throws: CancellationError.self) { try await adder.value }
    taken.call()
  }

  // Fails if a waiting step, or one whose `then` was not called yet, is ignored.
  @Test("isIdle and runningStep describe the manager's state")
  func state() {
    let (manager, taken) = (PromiseManager(), Taken())
    #expect(manager.isIdle && manager.runningStep == nil)
    manager.pause()
    manager.add(Step("upload", taken.handler))
    #expect(!manager.isIdle && manager.runningStep == nil)
    manager.resume()
    #expect(!manager.isIdle)
    #expect(manager.runningStep == StepIdentity(id: 1, name: "upload"))
    taken.call()
    #expect(manager.isIdle && manager.runningStep == nil)
  }
}
