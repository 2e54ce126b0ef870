import TestSupport
import Testing

@testable import SerialPromises

/// When a call of `then` takes effect.
struct ThenTests {
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
