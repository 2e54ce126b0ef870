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

  // Fails if the next step does not wait for `handlerReturned`: the transition for `then` in the phase
  // `handling` hands out the claim, or the next step starts inside the handler.
  @Test(
    "then in a handler, on its thread or another, does not start the next step before it returns",
    .shows(Managing.neverTwo), arguments: [true, false], [nil, Failed()])
  func thenInHandler(isElsewhere: Bool, error: Failed?) {
    let manager = PromiseManager(diagnostics: .silent)
    let (log, threads) = (Log<String>(), Log<UInt>())
    onThread {
      threads.append(currentThread())
      manager.add { then in
        manager.add { then in
          threads.append(currentThread())
          log.append("second")
          then()
        }
        let call = { @Sendable in
          if isElsewhere { #expect(threads.all != [currentThread()]) }
          then(error)
          log.append("then has returned")
        }
        if isElsewhere { onThread(call) } else { call() }
        log.append("handler returns")
      }
    }
    #expect(log.all == ["then has returned", "handler returns", "second"])
    #expect(threads.all[0] == threads.last, "the second runs on the adder's thread")
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
