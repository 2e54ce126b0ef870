import TestSupport
import Testing

@testable import SerialPromises

/// Handlers that wait for a cold promise that is never started.
struct NeverStartedTests {
  private let reports = Reports()

  private func cold(_ name: String = "cold") -> Promise<Int> {
    Promise<Int>(name, diagnostics: reports.place, file: "Some/File.swift", line: 12) {
      resolve, _ in resolve(1)
    }
  }

  private func neverStarted(_ name: String = "cold") -> Diagnostic {
    .neverStarted(PromiseIdentity(name: name, file: "Some/File.swift", line: 12))
  }

  // Fails if it is not reported, is reported by each link, or while the promise can still be
  // started.
  @Test(
    "a chain that is never started is reported once, when it is released", .shows(Promising.cold),
    arguments: 0..<8)
  func reported(_ way: Int) {
    do {
      let promise = cold()
      switch way {
      case 0: promise.fulfilled { _ in }
      case 1: promise.failed { _ in }
      case 2: promise.progressed { _ in }
      case 3: promise.map { $0 }.catch { _ in }
      case 4: promise.then { Promise.value($0) }.finally {}
      case 5: promise.map { $0 }.fulfilled { _ in }.failed { _ in }.catch { _ in }.finally {}
      case 6: promise.timeout(.seconds(1)).fulfilled { _ in }
      default: Promise.race([promise, cold("other")]).map { $0 }.fulfilled { _ in }
      }
      #expect(reports.all.isEmpty)
      withExtendedLifetime(promise) {}
    }
    #expect(reports.all == [neverStarted()])
  }

  // Fails if a promise that is merely not needed is reported.
  @Test("a promise without handlers, or that was canceled or is no longer needed, is not reported")
  func silent() async {
    _ = cold()
    _ = cold().map { $0 }.then { Promise.value($0) }.recover { _ in 1 }
    _ = when([cold(), cold()]).map { $0.count }
    cold().fulfilled { _ in }.cancel()
    _ = await cold().fulfilled { _ in }.outcome
    // The loser of a race that ended before it was started.
    let race = Promise.race([.value(1), cold().fulfilled { _ in }.map { $0 }.finally {}])
    #expect(await race.outcome == "1")
    #expect(reports.all.isEmpty)
  }

  // Fails if a cold promise is reported because its combination is dropped.
  @Test("a dropped combination does not report the cold promises without handlers in it")
  func silentInCombination() async {
    // In another process: the result of a combination, which fails, reports to the shared handler.
    await #expect(processExitsWith: .success) {
      DiagnosticHandler.shared = .silent
      let reports = Reports()
      let cold = { Promise<Int>(diagnostics: reports.place) { 1 } }
      _ = Promise.race([Deferred<Int>(diagnostics: .silent).promise, cold()])
      precondition(reports.all.isEmpty)
    }
  }

  // Fails if a combination is dissolved although another promise can still settle it.
  @Test("handlers of a dropped combination run when another of its promises settles it")
  func settledByAnother() async {
    let (hot, log, called) = (Deferred<Int>(), Log<String>(), Gate())
    Promise.race([hot.promise, cold()]).fulfilled { log.append("race \($0)") }
    Promise.any([cold(), hot.promise]).fulfilled { log.append("any \($0)") }
    hot.fulfill(1)
    let failing = Deferred<Int>()
    when([failing.promise, cold()]).catch { _ in
      log.append("when")
      called.open()
    }
    failing.fail(Failed())
    await called.passed()
    while log.count < 3, !Task.isCancelled { await Task.yield() }
    #expect(log.all.sorted() == ["any 1", "race 1", "when"])
    #expect(reports.all.isEmpty)
  }

  // Fails if the failure is lost with the combination.
  @Test("the failure of a dropped combination is reported")
  func failure() async {
    let ends = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let (hot, reported) = (Deferred<Int>(), Gate.ofReports())
      let gone = Watched(
        Promise.race([hot.promise, Promise<Int> { 1 }]).fulfilled { _ in }.core)
      precondition(!gone.isGone)
      hot.fail(Failed())
      await reported.passed()
    }
    let text = message(ends)
    #expect(text.contains("\"race\" failed and the error was not handled: Failed(number: 0)"))
    #expect(!text.contains("never started"))
  }

  // Fails if a combination that can no longer be settled is retained, or is not reported.
  @Test("a dropped combination is reported when its last promise leaves it unsettled")
  func leftUnsettled() async {
    let ends = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let (hot, reported) = (Deferred<Int>(), Gate.ofReports())
      let gone = {
        let all = when([hot.promise, Promise<Int> { 1 }])
        all.catch { _ in }
        return Watched(all.core)
      }()
      precondition(!gone.isGone)
      hot.fulfill(1)
      await reported.passed()
    }
    let text = message(ends)
    #expect(text.contains("was never started, so its handlers never run"))
  }
}

extension Gate {
  /// A gate that opens when a diagnostic has been printed.
  fileprivate static func ofReports() -> Gate {
    let gate = Gate()
    DiagnosticHandler.shared = DiagnosticHandler { diagnostic in
      DiagnosticHandler.standardError.report(diagnostic)
      gate.open()
    }
    return gate
  }
}
