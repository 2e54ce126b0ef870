import TestSupport
import Testing

@testable import SerialPromises

/// Runs the code in the right column of "Coming from other queues".
struct OtherQueuesExamples: StandIns {
  let log = Log<String>()
  private let manager = PromiseManager()

  // Fails if a method does not run the work.
  @Test("adding")
  func adding() async throws {
    let promise = manager.enqueue { try await load(url) }
    #expect(try await promise.value == "text of page")
    let text = try await manager.run { try await load(url) }
    #expect(text == "text of page")
    let here = try await manager.withTurn { try await load(url) }
    let keyed = KeyedPromiseManagers<String>()
    let inTurn = try await keyed[url].withTurn { try await load(url) }
    #expect([here, inTurn] == ["text of page", "text of page"])
    manager.add { then in
      show(url); then()
    }
    manager.add(Download(name: url))
    let compute = { @Sendable in show("computed") }
    manager.add(Promise { @concurrent in compute() })
    manager.add(fetch(url).map { show($0) })
    manager.add { @MainActor then in then() }
    manager.add(when(urls.lazy.map { fetch($0) }, concurrently: 3))
    manager.add { then in then(then.isCancelled || Task.isCancelled ? CancellationError() : nil) }
    let both = manager.serially([fetch(url), fetch(url)])
    #expect(try await both.value == ["text of page", "text of page"])
    let step = Step { then in then() }
    let steps: [any Promisable] = [step, fetch(url)]
    manager.add(contentsOf: steps)
    let handle = manager.add(Promise { try await load(url) }.retry(3))
    try await handle.outcome.get()
    await manager.idle()
    #expect(manager.progress == 1)
    manager.add(step, at: .replacing(handle))
    #expect(try await manager.withTurnIfAvailable { try await load(url) } == "text of page")
    let limited = try await manager.withTurn(waitingAtMost: .seconds(2)) { try await load(url) }
    #expect(limited == "text of page")
    #expect(log.all.first == "page" && log.all.contains("computed"))
  }

  // Fails if a step is not added at its position.
  @Test("places")
  func places() async throws {
    manager.pause()
    let step = Step("second") { then in
      show("second")
      then()
    }
    let handle = manager.add("last") { then in
      show("last")
      then()
    }
    manager.add(at: .first) { then in then() }
    manager.add(step, at: .before(handle))
    manager.enqueue(at: .first) { try await load(url) }
    #expect(manager.waitingCount == 4)
    #expect(handle.move(to: .first))
    manager.resume()
    await manager.idle()
    #expect(log.all == ["last", "second"])
  }

  // Hangs if the wait does not end.
  @Test("blocking")
  func waiting() throws {
    manager.add { then in then() }
    try manager.waitUntilIdle()
    #expect(manager.isIdle && manager.runningStep == nil)
  }

  // Fails if a manager with a rate or a limit does not run its steps.
  @Test("rates and limits")
  func limits() async throws {
    let step = Step { then in then() }
    for manager in [
      PromiseManager(), PromiseManager(rate: Rate(10, per: .seconds(1))),
      PromiseManager(timeLimit: .seconds(30)),
    ] {
      #expect(text(await manager.add(step.timeout(.seconds(30))).outcome) == "succeeded")
      let abandoned = manager.add(step.timeout(.seconds(30), abandoning: true))
      #expect(text(await abandoned.outcome) == "succeeded")
    }
  }

  private func text(_ outcome: StepOutcome) -> String { "\(outcome)" }
}
