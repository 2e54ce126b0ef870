import TestSupport
import Testing

@testable import SerialPromises

/// What `then` counts for, and what it does not.
struct ThenTests {
  // Fails if a second `then` is counted (it would end the step after) or not reported.
  @Test(
    "then counts once; a second call is reported once and changes nothing",
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

  // Fails if the second call inside the handler overwrites the first one's error.
  @Test(
    "of two calls inside a handler the first counts", .shows(Managing.thenOnce))
  func twiceInside() {
    let reports = Reports()
    let manager = PromiseManager(diagnostics: reports.place)
    let handle = manager.add { then in
      then(Failed(number: 1))
      then(Failed(number: 2))
      then()
    }
    #expect(text(handle.state) == "failed Failed(number: 1)")
    #expect(reports.all.count == 2)
  }

  // Fails if a call that comes when the queue is at rest, or runs a later step, is not reported.
  @Test("a second call is reported however late it comes", .shows(Managing.thenOnce))
  func muchLater() {
    let (reports, taken) = (Reports(), Taken())
    let manager = PromiseManager(diagnostics: reports.place)
    manager.add(taken.handler)
    taken.call()
    taken.call()
    for _ in 1...200 { manager.add { then in then() } }
    taken.call()
    #expect(reports.all.count == 2)
    #expect(Set(reports.all) == [.thenCalledAgain(StepIdentity(id: 1, name: nil))])
  }

  // Fails if `Then` is a class: one token serves many steps, so that somebody who kept it weakly
  // in one step could end another step with it.
  @Test("then cannot be held without being owned")
  func notWeakly() {
    let type: Any.Type = Then.self
    #expect(!(type is AnyObject.Type))
  }

  // Fails if the drain does not ask whether the token was called.
  @Test(
    "a then that the handler ignores fails the step, and the queue goes on",
    .shows(Managing.droppedThen))
  func ignored() {
    let manager = PromiseManager()
    let first = manager.add(Step("careless") { _ in })
    let second = manager.add { then in then() }
    let error = PromiseError.abandoned(StepIdentity(id: 1, name: "careless"))
    #expect(text(first.state) == "failed \(error)")
    #expect(text(second.state) == "succeeded")
  }

  // Fails if `deinit` of `then` does not tell the order, or runs the next step where it is.
  @Test(
    "a then that is dropped later fails the step, and the rest runs elsewhere",
    .shows(Managing.droppedThen))
  func droppedLater() async {
    let (manager, taken, log) = (PromiseManager(), Taken(), Log<UInt>())
    let first = manager.add(taken.handler)
    let second = manager.add { then in
      log.append(currentThread())
      then()
    }
    let dropper = Log<UInt>()
    let gate = Gate()
    onThread {
      dropper.append(currentThread())
      taken.drop()
      gate.open()
    }
    await gate.passed()
    #expect(text(await second.outcome) == "succeeded")
    let error = PromiseError.abandoned(StepIdentity(id: 1, name: nil))
    #expect(text(first.state) == "failed \(error)")
    #expect(log.all.count == 1)
  }

  // Fails if the drain's own reference is released before it has said that the handler returned.
  @Test(
    "a then that is dropped by another thread during the handler fails the step",
    .shows(Managing.droppedThen))
  func droppedDuring() {
    let manager = PromiseManager()
    let handle = manager.add { then in
      let taken = Taken()
      taken.handler(then)
      onThread { taken.drop() }
    }
    let error = PromiseError.abandoned(StepIdentity(id: 1, name: nil))
    #expect(text(handle.state) == "failed \(error)")
  }

  // Fails if a `then` that was called is treated as dropped when it goes away.
  @Test("dropping a then that was called changes nothing")
  func droppedAfterCall() {
    let (reports, taken, next) = (Reports(), Taken(), Taken())
    let manager = PromiseManager(diagnostics: reports.place)
    let first = manager.add(taken.handler)
    let second = manager.add(next.handler)
    taken.call()
    taken.drop()
    #expect(text(first.state) == "succeeded")
    #expect(text(second.state) == "running")
    next.call()
    #expect(reports.all.isEmpty)
  }
}
