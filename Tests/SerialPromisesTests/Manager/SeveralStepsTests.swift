import TestSupport
import Testing

@testable import SerialPromises

/// Several steps that are added at once.
struct SeveralStepsTests {
  private let log = Log<String>()

  private struct Own: Promisable {
    let name: String
    let log: Log<String>
    var handler: Handler { log.appending(name) }
  }

  private var steps: [any Promisable] {
    [
      Own(name: "own", log: log), Step("named", log.appending("step")),
      Promise { [log] in log.append("promise") }, Step(nil, log.appending("plain")),
    ]
  }

  // Fails if a kind of step is lost, or the handles are those of other steps.
  @Test("steps of any types enter in order, and each has its handle")
  func mixed() async {
    let manager = PromiseManager()
    manager.pause()
    let before = manager.add(log.appending("before"))
    let handles = manager.add(contentsOf: steps)
    #expect(handles.map(\.id) == [2, 3, 4, 5] && before.id == 1)
    #expect(handles.map(\.name) == [nil, "named", nil, nil])
    #expect(manager.add(contentsOf: []).isEmpty)
    manager.resume()
    await manager.idle()
    #expect(log.all == ["before", "own", "step", "promise", "plain"])
    for handle in handles { #expect(text(handle.state) == "succeeded") }
  }

  // Fails if the first step begins before the others have entered, or a step that a handler adds is
  // placed first, or run at once.
  @Test(
    "the first step begins when all have entered, and what it adds runs after all waiting steps",
    .shows(Managing.addedInside))
  func enteredBefore() async {
    let (manager, log) = (PromiseManager(), log)
    manager.add(contentsOf: [
      Step { [weak manager] then in
        log.append("\(manager?.waitingCount ?? 0) wait")
        manager?.add(log.appending("added inside"))
        log.append("first")
        then()
      },
      Step(nil, log.appending("second")), Step(nil, log.appending("third")),
    ])
    await manager.idle()
    #expect(log.all == ["2 wait", "first", "second", "third", "added inside"])
  }

  // Fails if a promise is not reserved for its turn before the first step runs.
  @Test("a promise is reserved for its turn before the first step begins")
  func reserved() async throws {
    let (manager, log) = (PromiseManager(), log)
    let promise = Promise { log.append("promise") }
    manager.add(contentsOf: [
      Step { then in
        promise.start()
        log.append("first")
        then()
      }, promise,
    ])
    try await promise.value
    #expect(log.all == ["first", "promise"])
  }

  // Fails if another thread's step enters in between.
  @Test("no other thread adds a step in between")
  func consecutive() {
    let manager = PromiseManager()
    manager.pause()
    let found = Log<Bool>()
    onThreads(4) { index in
      for _ in 1...(1000 / ease) {
        let handles = manager.add(contentsOf: (0..<3).map { _ in Step { then in then() } })
        found.append(handles[1].id == handles[0].id + 1 && handles[2].id == handles[0].id + 2)
      }
    }
    #expect(found.all.allSatisfy { $0 })
    #expect(manager.waitingCount == 4 * 3 * (1000 / ease))
  }

  // Fails if a refusal refuses all of them, takes too many, or changes a refused promise.
  @Test("a manager without room for all refuses those that it cannot take; a closed one all")
  func refused() async throws {
    let reports = Reports()
    let manager = PromiseManager(capacity: 2, diagnostics: reports.place)
    manager.pause()
    let late = Promise { "late" }
    let handles = manager.add(contentsOf: steps.prefix(2) + [late, Step { then in then() }])
    #expect(handles.map(\.id) == [1, 2, 0, 0])
    #expect(text(handles[2].state).contains("full"))
    #expect(reports.all.count == 2)
    #expect(try await late.value == "late")
    manager.close()
    #expect(manager.add(contentsOf: steps).allSatisfy { text($0.state).contains("closed") })
    manager.resume()
    await manager.idle()
    #expect(log.all == ["own", "step"])
  }

  // Fails if an argument of the initializer is not passed on, or the steps do not run.
  @Test("a manager that is created with steps runs them, with its settings")
  func created() async {
    let clock = ManualClock()
    let manager = PromiseManager(
      [Step { then in then(Failed()) }] + steps, on: .global(), onFailure: .stop, capacity: 9,
      timeLimit: .seconds(1), clock: clock, diagnostics: .silent)
    await manager.atRest()
    #expect(manager.failure is Failed && manager.waitingCount == 4)
    manager.resume()
    await manager.idle()
    #expect(log.all == ["own", "step", "promise", "plain"])
    #expect(PromiseManager([]).isIdle)
  }
}
