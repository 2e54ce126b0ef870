import TestSupport
import Testing

@testable import SerialPromises

/// Failures of steps whose outcome nothing receives.
struct SilentFailureTests {
  private let reports = Reports()

  private func manager(_ policy: FailurePolicy = .continue) -> PromiseManager {
    PromiseManager(onFailure: policy, diagnostics: reports.place)
  }

  private func failing(_ name: String) -> Promise<Int> {
    Promise(name, diagnostics: reports.place) { _, reject in reject(Failed(number: 7)) }
  }

  enum Silent: CaseIterable {
    case dropped, failed, printed, failedLater, promise, chain, placed, enqueued, serially
  }

  // Fails if only a second `then` is reported, or if a failure is reported for the step and for its
  // promise; or if that of `serially` is reported to the shared handler, which a manager with a
  // handler of its own does not use.
  @Test(
    "a failure that nothing receives is reported once", .shows(Managing.unhandled),
    arguments: Silent.allCases)
  func silent(_ way: Silent) async {
    do {
      let (manager, taken) = (manager(), Taken())
      switch way {
      case .dropped: manager.add("x") { _ in }
      case .failed: manager.add("x") { then in then(Failed(number: 7)) }
      case .printed: _ = "\(manager.add("x") { then in then(Failed(number: 7)) })"
      case .failedLater:
        manager.add("x", taken.handler)
        taken.call(Failed(number: 7))
      case .promise: manager.add(failing("x"))
      case .chain: manager.add(failing("x").map { $0 + 1 })
      case .placed: manager.add("x", at: .first) { then in then(Failed(number: 7)) }
      case .enqueued: manager.enqueue("x") { throw Failed(number: 7) }
      case .serially:
        let quiet = Promise<Int>(diagnostics: .silent) { _, reject in reject(Failed(number: 7)) }
        manager.serially([quiet]).start()
      }
      await manager.idle()
    }
    #expect(await eventually { reports.all.count > 0 })
    // A second report would come before the end of the manager's next step.
    _ = try? await manager().run { 1 }
    #expect(reports.all.count == 1)
    let message = reports.all.first?.description ?? ""
    #expect(message.contains("\"x\"") || way == .serially)
    #expect(message.contains(way == .dropped ? "dropped its `then`" : "Failed(number: 7)"))
  }

  enum Heard: CaseIterable {
    case outcome, state, events, stop, canceled, canceledWaiting, caught, promiseState,
      promiseHandle
    case succeeded, run, awaitedLater
  }

  // Fails if a failure is reported although its outcome was received, or is no failure.
  @Test(
    "a failure that is received, and a cancellation, are not reported", .shows(Managing.unhandled),
    arguments: Heard.allCases)
  func heard(_ way: Heard) async {
    do {
      let (manager, taken) = (manager(way == .stop ? .stop : .continue), Taken())
      let fail: Promisable.Handler = { then in then(Failed(number: 7)) }
      switch way {
      case .outcome: _ = await manager.add("x", fail).outcome
      case .state: _ = manager.add("x", fail).state
      case .events:
        let events = manager.events()
        manager.add("x", fail)
        for await event in events { if case .finished = event { break } }
      case .stop:
        manager.add("x", fail)
        #expect(manager.failure is Failed)
      case .canceled:
        manager.add("x", taken.handler).cancel()
        taken.call(CancellationError())
      case .canceledWaiting:
        manager.pause()
        manager.add("x", fail).cancel()
        manager.resume()
      case .caught:
        let promise = failing("x")
        promise.catch { _ in }
        manager.add(promise)
        await promise.waitForHandlers()
      case .promiseState:
        let promise = failing("x")
        manager.add(promise)
        await manager.idle()
        _ = promise.state
      case .promiseHandle: _ = await manager.add(failing("x")).outcome
      case .succeeded: manager.add("x") { then in then() }
      case .run: _ = try? await manager.run("x") { throw Failed() }
      case .awaitedLater:
        let handle = manager.add("x", taken.handler)
        let waiting = Task { await handle.outcome }
        taken.call(Failed(number: 7))
        _ = await waiting.value
      }
      await manager.idle()
    }
    _ = try? await manager().run { 1 }
    #expect(reports.all.isEmpty)
  }
}
