import TestSupport
import Testing

@testable import SerialPromises

/// Steps run in the order of addition, one at a time, each until its `then`.
struct OrderOfStepsTests {
  // Fails if the next step does not wait for `handlerReturned`: the transition for `then` in the
  // phase `handling` hands out the claim, or the next step starts inside the handler.
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

  // Fails if a second `then` takes effect, which would end the next step, or is not reported.
  @Test(
    "the first then takes effect; a second call is reported once and ignored",
    .shows(Managing.thenOnce))
  func twice() {
    let (reports, taken, next) = (Reports(), Taken(), Taken())
    let manager = PromiseManager(diagnostics: reports.place)
    let first = manager.add(Step("first", taken.handler))
    let second = manager.add(next.handler)
    taken.call()
    #expect(text(second.state) == "running")
    taken.call(Failed())
    #expect(text(first.state) == "succeeded")
    #expect(text(second.state) == "running")
    #expect(reports.all == [.thenCalledAgain(StepIdentity(id: 1, name: "first"))])
    next.call()
  }

  // Fails if `Then` is a class: one token serves many steps, so code with a weak reference to it
  // from one step could end another step.
  @Test("then cannot be referenced without owning it")
  func notWeakly() {
    let type: Any.Type = Then.self
    #expect(!(type is AnyObject.Type))
  }

  // Hangs if `deinit` of `then` does not notify the order; fails if it runs the next step inline.
  @Test(
    "a then that is dropped later fails the step, and the rest runs on another thread",
    .shows(Managing.droppedThen))
  func droppedLater() {
    let (manager, taken, ran) = (PromiseManager(), Taken(), Gate())
    let first = manager.add(taken.handler)
    let (dropper, runner) = (Log<UInt>(), Log<UInt>())
    manager.add { then in
      runner.append(currentThread())
      ran.open()
      then()
    }
    onThread {
      dropper.append(currentThread())
      taken.drop()
      // Not before: a new thread may get the identity of one that has ended.
      ran.block()
    }
    #expect(runner.count == 1 && runner.all != dropper.all)
    let error = PromiseError.abandoned(StepIdentity(id: 1, name: nil))
    #expect(text(first.state) == "failed \(error)")
  }
}
