import TestSupport
import Testing

@testable import SerialPromises

/// Failures without a handler.
struct UnhandledFailureTests {
  private let reports = Reports()

  private func failing(_ name: String? = "failing", _ error: any Error = Failed()) -> Promise<Int> {
    let deferred = Deferred<Int>(
      name, diagnostics: reports.place, file: "Some/File.swift", line: 12)
    deferred.fail(error)
    return deferred.promise
  }

  /// Waits until all handlers that are runnable now have run.
  private func settled(_ promise: Promise<Int>) async {
    await Promise.value(0).waitForHandlers()
    withExtendedLifetime(promise) {}
  }

  // Fails if the failure is not reported, or the message changes or lacks the name or location.
  @Test(
    "an unhandled failure is reported when the promise is released, with its name or location",
    .shows(Promising.unhandled),
    arguments: ["failing": "promise \"failing\"", nil: "the promise made at Some/File.swift:12"])
  func reported(_ name: String?, _ title: String) {
    _ = failing(name)
    let description = "\(title) failed and the error was not handled: Failed(number: 0)"
    #expect(reports.all.map(\.description) == ["\(description); end the chain with `catch`"])
  }

  // Fails if a promise reports while its failure can still be handled, or more than once.
  @Test(
    "a failure is reported once, and not while it can still be handled", .shows(Promising.unhandled)
  )
  func once() {
    do {
      let (promise, copy) = (failing(), failing())
      #expect(reports.all.count == 0)
      withExtendedLifetime((promise, copy)) {}
    }
    #expect(reports.all.count == 2)
  }

  // Fails if each link of a chain reports, or none.
  @Test("a chain reports once, under the name of its first promise", .shows(Promising.unhandled))
  func chain() async {
    let released = Gate()
    do {
      let sentinel = Sentinel { released.open() }
      failing().map { $0 + 1 }.map { $0 }.finally {}.map { _ in sentinel.touch() }.start()
    }
    await released.passed()
    await reported(1)
    let identity = PromiseIdentity(name: "failing", file: "Some/File.swift", line: 12)
    #expect(reports.all == [.unhandledFailure(identity, Failed())])
  }

  /// Waits for this many reports.
  ///
  /// Handlers are released just before the promise that they made.
  private func reported(_ count: Int) async {
    while reports.all.count < count { await Task.yield() }
  }

  // Fails if one of these operations does not count as handling or forwarding the failure.
  @Test("a failure that is handled or forwarded is not reported", arguments: 0..<10)
  func handled(_ way: Int) async {
    let promise = failing()
    switch way {
    case 0: promise.catch { _ in }
    case 1: promise.recover { _ in 1 }.start()
    case 2: promise.failed { _ in }
    case 3: _ = promise.state
    case 4: _ = try? await promise.value
    case 5: onThread { _ = try? promise.wait() }
    case 6:
      let manager = PromiseManager()
      manager.add(promise)
      await manager.idle()
    case 7: await Promise.any([promise, .value(1)]).waitForHandlers()
    case 8: _ = await Promise.value(0).then { _ in promise }.outcome
    default: promise.map { $0 }.recover(from: Failed.self) { _ in 1 }.start()
    }
    await settled(promise)
    #expect(reports.all.count == 0)
  }

  // Fails if a callback for values counts as handling errors.
  @Test("a callback for values does not handle errors")
  func callbacks() async {
    do { await settled(failing().fulfilled { _ in }.progressed { _ in }) }
    await reported(1)
  }

  // Fails if a cancellation is reported as a failure.
  @Test("a cancellation is not reported")
  func canceled() {
    do {
      let deferred = Deferred<Int>("cancelled", diagnostics: reports.place)
      deferred.onCancel {}
      deferred.promise.cancel()
      _ = failing("failing", CancellationError())
    }
    #expect(reports.all.count == 0)
  }

  // Fails if the shared diagnostics handler replaces a given one, or silence.
  @Test(
    "reports go to the configured diagnostics handler, or nowhere", .shows(Promising.redirected))
  func places() async throws {
    let ends = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      Deferred<Int>("quiet", diagnostics: .silent).fail(Failed())
      Deferred<Int>("redirected", diagnostics: DiagnosticHandler { print("own: \($0)") }).fail(
        Failed())
      DiagnosticHandler.shared = .silent
      Deferred<Int>("quiet").fail(Failed())
      DiagnosticHandler.shared = .standardError
      Deferred<Int>("loud").fail(Failed())
    }
    let lines = try #require(ends).standardErrorContent.split(separator: UInt8(ascii: "\n"))
    let notified = lines.map { String(decoding: $0, as: UTF8.self) }
    #expect(
      notified.count { $0.contains("loud") } == 1 && notified.allSatisfy { !$0.contains("quiet") })
    #expect(notified.allSatisfy { !$0.contains("redirected") })
  }

  // Fails if a chain loses the diagnostics handler of its first promise.
  @Test("derived promises use the diagnostics handler of their source")
  func inherited() async {
    Deferred<Int>("root", diagnostics: reports.place).promise.map { $0 }.start()
    await reported(1)
    #expect(reports.all.first?.description.contains("nothing is left that could settle") == true)
  }
}
