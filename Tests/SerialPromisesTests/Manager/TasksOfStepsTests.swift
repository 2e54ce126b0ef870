import TestSupport
import Testing

@testable import SerialPromises

#if DEBUG
  /// Tasks that the handler of a closure step starts, and that wait for their own manager.
  struct TasksOfStepsTests {
    // Times out if the handler of a closure is not marked with its step: the task waits for the step,
    // which waits for the task. Debug builds only.
    @Test(
      "a task that a step's handler starts gets an error if it waits for its own manager",
      .shows(Managing.deadlock), arguments: ["run", "idle", "outcome"])
    func deadlock(_ way: String) async {
      let (reports, log) = (Reports(), Log<String>())
      let (manager, last) = (PromiseManager(diagnostics: reports.place), Taken())
      manager.add("outer") { then in
        last.handler(then)
        Task {
          do {
            switch way {
            case "run": log.append("\(try await manager.run { 1 })")
            case "idle": await manager.idle()
            default: log.append(text(await manager.add { then in then() }.outcome))
            }
          } catch { log.append("\(error)") }
          then()
        }
      }
      let isOver = await eventually { manager.isIdle }
      #expect(isOver)
      let error = "\(PromiseError.deadlock(StepIdentity(id: 1, name: "outer")))"
      switch way {
      case "run": #expect(log.all == [error])
      case "idle": #expect(reports.all.map(\.description) == [error])
      default: #expect(log.all == ["failed \(error)"])
      }
      // Today's manager has to be freed, because its tasks retain it.
      if !isOver { last.with { $0() } }
    }
  }
#endif
