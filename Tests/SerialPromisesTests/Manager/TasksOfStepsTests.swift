import TestSupport
import Testing

@testable import SerialPromises

#if DEBUG
  /// Tasks that the handler of a closure step starts, and that wait for their own manager.
  struct TasksOfStepsTests {
    // Times out if the handler of a closure is not marked with its step: the task waits for the
    // step, which waits for the task. Debug builds only.
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

    // Fails if the mark of a handler lasts until the handler has returned, or a mark of another
    // manager hides the call. The handler is held until the task waits for its end, or has an
    // error.
    @Test(
      "a task that a step's handler starts may wait for its own manager when `then` was called",
      arguments: [true, false], ["run", "turn", "idle", "nested run"])
    func afterThen(isCalledByTask: Bool, _ way: String) async {
      let (reports, log, began, ended) = (Reports(), Log<String>(), Gate(), Gate())
      let manager = PromiseManager(diagnostics: reports.place)
      onOwnThread {
        manager.add { then in
          if !isCalledByTask { then() }
          Task {
            began.open()
            if isCalledByTask { then() }
            do {
              switch way {
              case "run": try await manager.run {}
              case "turn": try await manager.withTurn {}
              case "idle": await manager.idle()
              default: try await PromiseManager().run { try await manager.run {} }
              }
            } catch { log.append("\(error)") }
            ended.open()
          }
          // Many tests can be in front of the task.
          began.block()
          while !ended.isOpen, manager.waitingCount == 0,
            manager.order.withLock({ $0.line.waiters.isEmpty })
          {
            yieldToOthers(1)
          }
        }
      }
      await ended.passed()
      #expect(log.all.isEmpty && reports.all.isEmpty)
    }

    // Fails if the mark of a task retains the `then` of its step: the step waits for the task.
    @Test("a task that a step's handler starts does not keep its step from being abandoned")
    func abandoned() async {
      let (manager, gate) = (PromiseManager(diagnostics: .silent), Gate())
      let handle = manager.add { _ in Task { await gate.passed() } }
      let isOver = await eventually { manager.isIdle }
      #expect(isOver && text(handle.state).hasPrefix("failed"))
      gate.open()
    }
  }
#endif
