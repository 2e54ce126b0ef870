import TestSupport
import Testing

@testable import SerialPromises

/// Promises/A+ 2.1, clause by clause: the states of a promise.
@Suite(.allShow(Promising.states)) struct PromisesAPlusStatesTests {
  private static let outcomes: [Result<Int, any Error>] = [
    .success(1), .failure(Failed(number: 1)),
  ]

  private func text(_ result: Result<Int, any Error>) -> String {
    switch result {
    case .success(let value): "\(value)"
    case .failure(let error): "failed \(error)"
    }
  }

  // Fails if a settled promise calls handlers of the other outcome.
  @Test(
    "2.1.2.1, 2.1.3.1 a promise calls the handlers of its outcome only",
    arguments: Moment.allCases, [0, 1])
  func handlers(_ moment: Moment, _ outcome: Int) async {
    let (log, result) = (Log<String>(), Self.outcomes[outcome])
    let promise = moment.settling(result) { promise in
      promise.fulfilled { log.append("\($0)") }.failed { log.append("failed \($0)") }
    }
    await promise.waitForHandlers()
    #expect(log.all == [text(result)])
  }

  // Fails if a second call takes effect: the state, the value or the error changes, or both kinds of
  // handlers are called.
  @Test(
    "2.1.2, 2.1.3 a settled promise keeps its state, its value and its error",
    arguments: Moment.allCases, [(0, 0), (0, 1), (1, 0), (1, 1)])
  func settledTwice(_ moment: Moment, _ outcomes: (first: Int, second: Int)) async {
    let (log, deferred) = (Log<String>(), Deferred<Int>(diagnostics: .silent))
    let expected = text(Self.outcomes[outcomes.first])
    deferred.promise.fulfilled { log.append("\($0)") }.failed { log.append("failed \($0)") }
    let (first, second) = (Gate(), Gate())
    let settle = { @Sendable in
      if outcomes.first == 0 { deferred.fulfill(1) } else { deferred.fail(Failed(number: 1)) }
      if moment == .later { first.block() }
      if outcomes.second == 0 { deferred.fulfill(2) } else { deferred.fail(Failed(number: 2)) }
      second.open()
    }
    if moment == .already { settle() } else { onOwnThread(settle) }
    await deferred.promise.waitForHandlers()
    first.open()
    await second.passed()
    await deferred.promise.waitForHandlers()
    #expect(log.all == [expected])
    #expect(await deferred.promise.outcome == expected)
  }
}
