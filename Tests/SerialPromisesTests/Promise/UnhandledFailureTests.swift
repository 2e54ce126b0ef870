import TestSupport
import Testing

@testable import SerialPromises

/// What becomes of a failure that nobody looks at.
struct UnhandledFailureTests {
  private let reports = Reports()

  private func failing(_ name: String? = "failing", _ error: any Error = Failed()) -> Promise<Int> {
    let deferred = Deferred<Int>(
      name, diagnostics: reports.place, file: "Some/File.swift", line: 12)
    deferred.fail(error)
    return deferred.promise
  }

  /// Waits until nothing is left to run of what was made runnable before.
  private func settled(_ promise: Promise<Int>) async {
    await Promise.value(0).told()
    withExtendedLifetime(promise) {}
  }

  // Fails if it is not reported, or not in these words.
  @Test("it is reported when the promise goes away, with its name", .shows(Promising.unhandled))
  func named() {
    _ = failing()
    let description = "promise \"failing\" failed and the error was not handled: Failed(number: 0)"
    #expect(reports.all.map(\.description) == ["\(description); end the chain with `catch`"])
  }

  // Fails if the place where it was made is not there in the place of a name.
  @Test(
    "without a name, it is reported with the place where it was made", .shows(Promising.unhandled))
  func place() {
    _ = failing(nil)
    #expect(
      reports.all.first?.description.hasPrefix("the promise made at Some/File.swift:12 ") == true)
  }

  // Fails if a promise reports while somebody may still look, or more than once.
  @Test("it is reported once, and not while somebody can look", .shows(Promising.unhandled))
  func once() {
    do {
      let (promise, copy) = (failing(), failing())
      #expect(reports.all.count == 0)
      withExtendedLifetime((promise, copy)) {}
    }
    #expect(reports.all.count == 2)
  }

  // Fails if each link of a chain reports, or none.
  @Test("a chain reports once, under the name of its beginning", .shows(Promising.unhandled))
  func chain() async {
    let gone = Gate()
    do {
      let sentinel = Sentinel { gone.open() }
      failing().map { $0 + 1 }.map { $0 }.finally {}.map { _ in sentinel.touch() }.start()
    }
    await gone.passed()
    await reported(1)
    #expect(reports.all == [.unhandledFailure(identity, Failed())])
  }

  private var identity: PromiseIdentity {
    PromiseIdentity(name: "failing", file: "Some/File.swift", line: 12)
  }

  /// Handlers are released just before the promise that they made.
  private func reported(_ count: Int) async {
    while reports.all.count < count { await Task.yield() }
  }

  // Fails if one of these does not count as looking, or as handing on.
  @Test("one that is looked at, or handed on, is not reported", arguments: 0..<10)
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
    case 7: await Promise.any([promise, .value(1)]).told()
    case 8: _ = await Promise.value(0).then { _ in promise }.outcome
    default: promise.map { $0 }.recover(from: Failed.self) { _ in 1 }.start()
    }
    await settled(promise)
    #expect(reports.all.count == 0)
  }

  // Fails if a callback for values counts as looking at errors.
  @Test("a callback for values does not look at errors")
  func callbacks() async {
    do {
      let promise = failing().fulfilled { _ in }.progressed { _ in }
      await settled(promise)
    }
    await reported(1)
    #expect(reports.all == [.unhandledFailure(identity, Failed())])
  }

  // Fails if a cancellation is reported as a failure.
  @Test("a cancellation is not reported")
  func cancelled() {
    do {
      let deferred = Deferred<Int>("cancelled", diagnostics: reports.place)
      deferred.onCancel {}
      deferred.promise.cancel()
      _ = failing("failing", CancellationError())
    }
    #expect(reports.all.count == 0)
  }

  // Fails if the loser of a race reports what nobody can care for any more.
  @Test("losers of a race are no false alarm", .shows(Promising.losers))
  func losers() async {
    do {
      let (winner, loser) = (Deferred<Int>(), Deferred<Int>("loser", diagnostics: reports.place))
      let race = Promise.race([winner.promise, loser.promise])
      let any = Promise.any([winner.promise, loser.promise])
      winner.fulfill(1)
      #expect(await race.outcome == "1")
      #expect(await any.outcome == "1")
      loser.fail(Failed())
    }
    #expect(reports.all.count == 0)
  }

  // Fails if a place that was given, or silence, is passed over for the shared one.
  @Test("reports go where they were sent, or nowhere", .shows(Promising.redirected))
  func places() async throws {
    let ends = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      Deferred<Int>("quiet", diagnostics: .silent).fail(Failed())
      Deferred<Int>("told", diagnostics: DiagnosticHandler { print("own: \($0)") }).fail(Failed())
      DiagnosticHandler.shared = .silent
      Deferred<Int>("quiet").fail(Failed())
      DiagnosticHandler.shared = .standardError
      Deferred<Int>("loud").fail(Failed())
    }
    let lines = try #require(ends).standardErrorContent.split(separator: UInt8(ascii: "\n"))
    let told = lines.map { String(decoding: $0, as: UTF8.self) }
    #expect(told.count { $0.contains("loud") } == 1 && told.allSatisfy { !$0.contains("quiet") })
    #expect(told.allSatisfy { !$0.contains("told") })
  }

  // Fails if a chain forgets where its beginning reports to.
  @Test("what hangs on a promise reports where that one does")
  func inherited() async {
    Deferred<Int>("root", diagnostics: reports.place).promise.map { $0 }.start()
    await reported(1)
    #expect(reports.all.first?.description.contains("nothing is left that could settle") == true)
  }
}
