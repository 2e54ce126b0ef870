import TestSupport
import Testing

@testable import SerialPromises

/// Promises as a manager's steps.
struct PromiseStepTests {
  // Fails if a way into a manager loses the name of a promise, because it does not read `stepName`.
  @Test(
    "a named promise is a named step, in every composition and with every way to add it",
    .shows(Managing.anyTypeIsAStep))
  func names() async throws {
    func modified(_ promise: Promise<Int>) -> [any Promisable] {
      [
        (promise as any Promisable).timeout(.seconds(60)), promise.delay(.zero), promise.retry(1),
      ]
    }
    let manager = PromiseManager()
    let events = manager.events()
    manager.pause()
    let page = { Promise<Int>("page") { 1 } }
    var handles = [
      manager.add(page()), manager.add(page(), at: .first), manager.add(page().map { $0 }),
    ]
    for step in modified(page()) { handles.append(manager.add(step)) }
    handles.append(try await manager.addWhenRoom(page()))
    #expect(handles.map(\.name) == Array(repeating: "page", count: 7))
    let all = manager.serially([page(), page()])
    #expect(manager.add(Promise<Int> { 1 }).name == nil)
    #expect(manager.add(when([page()])).name == "when")
    manager.resume()
    #expect(try await all.value == [1, 1])
    var names: [String?] = []
    for await event in events {
      if case .added(let step) = event { names.append(step.name) }
      if case .idle = event { break }
    }
    #expect(names == Array(repeating: "page", count: 9) + [nil, "when"])
  }

  // Fails if the progress of a promise is not that of the step, or what it was before its turn is
  // lost.
  @Test("a promise's progress is that of its step", arguments: [false, true])
  func progress(reportsBefore: Bool) async {
    let (manager, deferred) = (PromiseManager(), Deferred<Int>())
    if reportsBefore { deferred.progress(0.5) }
    manager.add(deferred.promise)
    let next = manager.add { then in then() }
    if !reportsBefore { deferred.progress(0.5) }
    #expect(manager.progress == 0.25)
    deferred.fulfill(1)
    #expect(text(await next.outcome) == "succeeded")
  }

  // Fails if progress that two threads forward out of order is reported as misuse.
  @Test("progress that arrives out of order is not misuse")
  func progressOutOfOrder() async {
    let (reports, taken) = (Reports(), Taken())
    let manager = PromiseManager(diagnostics: reports.place)
    for _ in 0..<(isLong ? 2_000 : 100) {
      let deferreds = (0..<8).map { _ in Deferred<Int>() }
      let handle = manager.add(when(deferreds.map(\.promise)))
      onThreads(4) { thread in
        for index in [thread, thread + 4] {
          for part in 1...4 { deferreds[index].progress(Double(part) / 4) }
          deferreds[index].fulfill(index)
        }
      }
      #expect(text(await handle.outcome) == "succeeded")
    }
    #expect(reports.all.count == 0)
    withExtendedLifetime(taken) {}
  }

  /// What the step after that of a promise waits for.
  enum Handler: CaseIterable { case before, inside, derived }

  // Hangs if the next step runs in the turn of the promise's handlers, which then wait for it: the
  // handlers that it makes runnable, or those that were attached after the step. Traps if it runs
  // while they are being called: a handler that it attaches to that promise then comes after it.
  @Test(
    "the step after a promise does not delay the promise's handlers, and may wait for them",
    arguments: Handler.allCases)
  func waitInNextStep(_ handler: Handler) async {
    let (manager, deferred, notified) = (PromiseManager(), Deferred<Int>(), Gate())
    manager.add(deferred.promise)
    let next = manager.add { then in
      if handler == .inside { Promise.value(5).fulfilled { _ in notified.open() } }
      if handler == .derived {
        #expect(throws: Never.self) { try deferred.promise.map { _ in notified.open() }.wait() }
      }
      notified.block()
      then()
    }
    if handler == .before { deferred.promise.fulfilled { _ in notified.open() } }
    deferred.fulfill(1)
    #expect(text(await next.outcome) == "succeeded")
  }
}
