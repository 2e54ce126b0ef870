import Dispatch

@testable import SerialPromises

/// When a promise is settled that something is attached to: the public Promises/A+ suite's three
/// cases.
enum Moment: String, CaseIterable, Sendable {
  case already, immediately, later

  /// Attaches something to a promise and settles that, before, just after, or from elsewhere.
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

extension Promise {
  /// Waits until the promise is settled and all handlers that are attached now have been called.
  func told() async {
    let gate = Gate()
    fulfilled { _ in gate.open() }
    failed { _ in gate.open() }
    start()
    await gate.passed()
  }

  /// How the promise ended, once it has.
  var outcome: String {
    get async {
      do { return "\(try await value)" } catch { return "failed \(error)" }
    }
  }
}

func text<Value>(_ state: Promise<Value>.State) -> String {
  switch state {
  case .pending: "pending"
  case .fulfilled(let value): "\(value)"
  case .failed(let error): "failed \(error)"
  }
}

/// Tells, from anywhere, whether an object is gone.
final class Watched: Sendable {
  private weak let object: (any AnyObject & Sendable)?

  init(_ object: any AnyObject & Sendable) {
    self.object = object
  }

  var isGone: Bool { object == nil }
}
