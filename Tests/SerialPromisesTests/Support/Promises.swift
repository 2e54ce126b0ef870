import Dispatch
import Testing

@testable import SerialPromises

/// When a promise is settled relative to an attachment: the three cases of the public Promises/A+
/// test suite.
enum Moment: String, CaseIterable, Sendable {
  case already, immediately, later

  /// Attaches to a promise and settles it before, just after, or from another thread.
  func settling<Value, Attached>(
    _ result: Result<Value, any Error>, _ attach: (Promise<Value>) -> Attached
  ) -> Attached {
    let deferred = Deferred<Value>("test", diagnostics: .silent)
    let settle = { @Sendable in
      switch result {
      case .success(let value): deferred.fulfill(value)
      case .failure(let error): deferred.fail(error)
      }
    }
    if self == .already { settle() }
    let attached = attach(deferred.promise)
    switch self {
    case .already: break
    case .immediately: settle()
    case .later: DispatchQueue.global().async(execute: settle)
    }
    return attached
  }
}

/// Ways to demand a promise's value.
enum Demand: String, CaseIterable, Sendable {
  case start, await, wait, chain, adopted, callback, when, race, relay, manager

  func make(_ promise: Promise<Int>) {
    switch self {
    case .start: promise.start()
    case .await: Task { try await promise.value }
    case .wait: DispatchQueue.global().async { _ = try? promise.wait() }
    case .chain: promise.map { $0 }.map { $0 + 1 }.recover { _ in 0 }.start()
    case .adopted: Promise.value(0).then { _ in promise }.start()
    case .callback: promise.fulfilled { _ in }.start()
    case .when: SerialPromises.when([promise, .value(1)]).start()
    case .race: Promise.race([promise, promise]).start()
    case .relay: promise.relay(to: Deferred<Int>())
    case .manager: PromiseManager().add(promise.map { $0 })
    }
  }
}

extension Promise {
  /// A failed promise whose error may stay unhandled.
  static func silentFailure(_ error: any Error) -> Promise {
    let deferred = Deferred<Value>(diagnostics: .silent)
    deferred.fail(error)
    return deferred.promise
  }

  /// Waits until the promise is settled and all handlers attached so far have been called.
  func waitForHandlers() async {
    let gate = Gate()
    fulfilled { _ in gate.open() }
    failed { _ in gate.open() }
    start()
    await gate.passed()
  }

  /// The final outcome of the promise.
  var outcome: String {
    get async {
      do { return "\(try await value)" } catch { return "failed \(error)" }
    }
  }
}

extension Promise {
  /// The outcome of this promise if it was resolved with itself.
  var resolvedWithItself: String {
    "failed \(PromiseError.resolvedWithItself(core.origin.identity))"
  }

  /// Records the progress that a listener of this promise receives.
  func recordedProgress() -> Log<Double> {
    let log = Log<Double>()
    progressed { log.append($0) }
    return log
  }
}

extension Log<Double> {
  /// Expects these values, which may have been rounded, and any of the others.
  func expect(
    _ values: [Double], ends others: [Double] = [], location: SourceLocation = #_sourceLocation
  ) {
    let received = all.filter { value in !others.contains { abs($0 - value) < 1e-9 } }
    let isSame =
      received.count == values.count && zip(received, values).allSatisfy { abs($0 - $1) < 1e-9 }
    #expect(isSame, "\(received) is not \(values)", sourceLocation: location)
  }
}

/// Expects the outcomes of promises, each of which is in front of its promise.
func expectOutcomes<Value>(
  _ promises: KeyValuePairs<String, Promise<Value>>, location: SourceLocation = #_sourceLocation
) async {
  var outcomes: [String] = []
  for (_, promise) in promises { outcomes.append(await promise.outcome) }
  #expect(outcomes == promises.map(\.key), sourceLocation: location)
}

func text<Value>(_ state: Promise<Value>.State) -> String {
  switch state {
  case .pending: "pending"
  case .fulfilled(let value): "\(value)"
  case .failed(let error): "failed \(error)"
  }
}

/// Holds an object weakly, and reports on any thread whether it has been released.
final class Watched: Sendable {
  private weak let object: (any AnyObject & Sendable)?

  init(_ object: any AnyObject & Sendable) {
    self.object = object
  }

  var isGone: Bool { object == nil }
}
