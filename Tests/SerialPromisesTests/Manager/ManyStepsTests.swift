import TestSupport
import Testing

@testable import SerialPromises

/// Steps that are added together.
struct ManyStepsTests {
  private let log = Log<String>()

  private func step(_ name: String) -> Step {
    Step(name, log.appending(name))
  }

  // Fails if the order is not that of the array, or a promise runs out of turn.
  @Test("a manager that is made with its steps runs them in order", .shows(Managing.order))
  func made() async {
    let promise = Promise<Int>("b") { [log] resolve, _ in
      log.append("b")
      resolve(1)
    }
    let manager = PromiseManager([step("a"), promise, step("c")])
    await manager.idle()
    #expect(log.all == ["a", "b", "c"])
    #expect(text(promise.state) == "1")
  }

  // Fails if the handles are not those of the steps, or an added step comes in between.
  @Test("steps that are added at once are in order, with a handle for each", .shows(Managing.order))
  func added() async {
    let manager = PromiseManager()
    manager.pause()
    let steps = manager.add(contentsOf: ["a", "b", "c"].map(step))
    #expect(steps.map(\.name) == ["a", "b", "c"] && steps.map(\.id) == [1, 2, 3])
    #expect(manager.add(contentsOf: []).isEmpty && manager.waitingCount == 3)
    steps[1].cancel()
    manager.resumeAndWait()
    #expect(log.all == ["a", "c"])
    #expect(steps.map { text($0.state) } == ["succeeded", "cancelled", "succeeded"])
  }

  // Fails if only those are added that have room, or if a refusal starts a promise.
  @Test("of steps without room for all, none is added", .shows(Managing.capacity))
  func room() async {
    let reports = Reports()
    let manager = PromiseManager(capacity: 2, diagnostics: reports.place)
    manager.pause()
    let steps = manager.add(contentsOf: ["a", "b", "c"].map(step))
    #expect(steps.count == 3 && manager.waitingCount == 0 && reports.all.count > 0)
    for step in steps {
      #expect(text(await step.outcome) == "failed \(PromiseError.full(capacity: 2))")
    }
    #expect(
      manager.add(contentsOf: ["d", "e"].map(step)).map { text($0.state) } == [
        "waiting", "waiting",
      ])
  }

  // Fails if the steps are added under a lock each: those of another thread come in between.
  @Test("steps that are added at once stay together", .shows(Managing.order))
  func together() async {
    let manager = PromiseManager()
    manager.pause()
    onThreads(2) { thread in
      for round in 0..<200 / ease {
        manager.add(contentsOf: (0..<5).map { step("\(thread) \(round) \($0)") })
      }
    }
    manager.resumeAndWait()
    let all = log.all
    #expect(all.count == 2000 / ease)
    for start in stride(from: 0, to: all.count, by: 5) {
      #expect(Set(all[start..<start + 5].map { $0.dropLast(2) }).count == 1)
    }
  }
}
