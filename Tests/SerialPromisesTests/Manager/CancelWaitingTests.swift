import TestSupport
import Testing

@testable import SerialPromises

/// Dropping what waits, with the running step spared; and what a manager says of where it is.
struct CancelWaitingTests {
  // Fails if the running step is asked to stop, a waiting one runs, or what is added later is dropped.
  @Test("cancelWaiting spares the step that runs, and what is added afterwards")
  func spares() {
    let (manager, taken, log) = (PromiseManager(), Taken(), Log<String>())
    let handler = taken.handler
    let running = manager.add { then in
      then.onCancel { log.append("told") }
      handler(then)
    }
    let waiting = (1...3).map { number in
      manager.add { then in
        log.append("\(number)")
        then()
      }
    }
    manager.cancelWaiting()
    #expect(manager.waitingCount == 0)
    #expect(taken.with(\.isCancelled) == false)
    #expect(waiting.map { text($0.state) } == ["cancelled", "cancelled", "cancelled"])
    let later = manager.add { then in
      log.append("later")
      then()
    }
    taken.call()
    #expect(text(running.state) == "succeeded")
    #expect(text(later.state) == "succeeded")
    #expect(log.all == ["later"])
  }

  // Fails (hangs) if what is dropped leaves a queue in which nothing runs unsettled.
  @Test("a paused manager whose waiting steps are dropped is idle, and says so")
  func settles() async {
    let manager = PromiseManager()
    manager.pause()
    let events = manager.events()
    manager.add { then in then() }
    let waiter = Task { await manager.idle() }
    await manager.idleWaiting(1)
    manager.cancelWaiting()
    await waiter.value
    var published: [String] = []
    for await event in events {
      switch event {
      case .added: published.append("added")
      case .cancelled: published.append("cancelled")
      case .idle: published.append("idle")
      case .started, .finished: published.append("wrong")
      }
      if published.last == "idle" { break }
    }
    #expect(published == ["added", "cancelled", "idle"])
  }

  // Fails if an adder that is parked is told that there is room, or not told at all.
  @Test("cancelWaiting throws in the adders that are parked")
  func parked() async {
    let (manager, taken) = (PromiseManager(capacity: 1), Taken())
    manager.add(taken.handler)
    manager.add { then in then() }
    let adder = Task { try await manager.addWhenRoom { then in then() } }
    await manager.waiting(2)
    manager.cancelWaiting()
    await #expect(throws: CancellationError.self) { try await adder.value }
    taken.call()
  }

  // Fails if a step that waits, or one whose `then` is still to be called, is left out.
  @Test("isIdle and runningStep say where the manager is")
  func looking() {
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
