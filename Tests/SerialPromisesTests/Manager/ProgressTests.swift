import TestSupport
import Testing

@testable import SerialPromises

/// The progress of the queue.
struct ProgressTests {
  // Fails if an ended, running or waiting step is counted wrongly.
  @Test(
    "progress is the ended steps and the running step's share, of all since the manager was last idle",
    .shows(Progressing.manager))
  func figures() {
    let (manager, taken, next) = (PromiseManager(), Taken(), Taken())
    #expect(manager.progress == 1)
    manager.add(taken.handler)
    #expect(manager.progress == 0)
    manager.add(next.handler)
    manager.add { then in then() }
    manager.add { then in then() }
    _ = taken.with { $0.progress(0.5) }
    #expect(manager.progress == 0.125)
    taken.call()
    #expect(manager.progress == 0.25)
    manager.cancelAll()
    #expect(manager.progress == 0.75)
    next.call()
    #expect(manager.progress == 1)
    let again = Taken()
    manager.add(again.handler)
    #expect(manager.progress == 0)
    again.call()
  }
}
