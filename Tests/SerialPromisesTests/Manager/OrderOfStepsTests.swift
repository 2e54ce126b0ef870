import TestSupport
import Testing

@testable import SerialPromises

/// Steps run in the order of addition, one at a time.
struct OrderOfStepsTests {
  // Fails if a step that is added while another runs, or by a handler, is placed first or run at
  // once.
  @Test("a step that a handler adds runs after all waiting steps", .shows(Managing.addedInside))
  func addedFromHandler() {
    let (manager, log) = (PromiseManager(), Log<String>())
    manager.pause()
    manager.add { then in
      manager.add(log.appending("added"))
      log.append("first")
      then()
    }
    manager.add(log.appending("second"))
    manager.resumeAndWait()
    #expect(log.all == ["first", "second", "added"])
  }

  // Fails if the next step does not wait for `handlerReturned`: it would start inside the handler.
  @Test(
    "a step that calls then before its handler returns delays the next step until the return",
    .shows(Managing.neverTwo))
  func thenInsideHandler() throws {
    let (manager, log) = (PromiseManager(), Log<String>())
    manager.add { then in
      manager.add(log.appending("second"))
      then()
      log.append("after then")
    }
    try manager.waitUntilIdle()
    #expect(log.all == ["after then", "second"])
  }

  // Fails if the transition for `then` in the phase `handling` hands out the claim.
  @Test(
    "then from another thread does not start the next step while the handler is on the stack",
    .shows(Managing.neverTwo))
  func thenFromAnotherThread() {
    let (manager, log) = (PromiseManager(), Log<String>())
    let (adder, caller) = (Locked<UInt>(0), Locked<UInt>(0))
    onThread {
      adder.withLock { $0 = currentThread() }
      manager.add { then in
        manager.add { then in
          log.append("second on the adder's thread: \(adder.withLock { $0 } == currentThread())")
          then()
        }
        onThread {
          caller.withLock { $0 = currentThread() }
          then()
          log.append("then has returned")
        }
        log.append("handler returns")
      }
    }
    #expect(
      log.all == ["then has returned", "handler returns", "second on the adder's thread: true"])
    #expect(caller.withLock { $0 } != adder.withLock { $0 })
  }

  // Fails if a step does not see the writes of the preceding one; the thread sanitizer reports a
  // race.
  @Test(
    "a step's writes are visible to the next step, on any thread",
    .shows(Managing.visibility))
  func visibility() async {
    final class Plain: @unchecked Sendable { var count = 0 }
    let (manager, plain) = (PromiseManager(), Plain())
    for index in 0..<200 {
      manager.add { then in
        plain.count += 1
        if index.isMultiple(of: 2) { Task { then() } } else { then() }
      }
    }
    await manager.idle()
    #expect(plain.count == 200)
  }

  // Fails if `Promisable` gets another requirement, or its handler is read late or twice.
  @Test(
    "any type can be a step, and its handler is read once, when it is added",
    .shows(Managing.anyTypeIsAStep))
  func anyType() {
    struct Custom: Promisable {
      let log: Log<String>
      var handler: Handler {
        log.append("read")
        return { [log] then in
          log.append("run")
          then()
        }
      }
    }
    let (manager, log) = (PromiseManager(), Log<String>())
    manager.pause()
    let handle = manager.add(Custom(log: log))
    #expect(log.all == ["read"])
    manager.resume()
    #expect(log.all == ["read", "run"])
    #expect(handle.name == nil)
  }
}
