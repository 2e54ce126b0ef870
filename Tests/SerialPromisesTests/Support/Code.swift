@testable import SerialPromises

/// The ways to run asynchronous code as a step.
enum Code: CaseIterable, Sendable {
  /// A turn without a name begins at once if it can, by a shorter way.
  case turn, namedTurn, run, enqueue, promise, link

  /// The ways whose caller takes part in the step, and may limit how long it waits.
  static let ofCallers: [Code] = [.turn, .namedTurn, .run]

  /// Runs the code in its turn, and returns when it has ended.
  func perform(
    on manager: PromiseManager, at place: StepPlace = .last, waitingAtMost limit: Duration? = nil,
    diagnostics: DiagnosticHandler? = nil, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    switch self {
    case .turn:
      try await manager.withTurn(at: place, waitingAtMost: limit) { try await body() }
    case .namedTurn:
      try await manager.withTurn("code", at: place, waitingAtMost: limit) { try await body() }
    case .run: try await manager.run("code", at: place, waitingAtMost: limit, body)
    case .enqueue: try await manager.enqueue("code", at: place, body).value
    case .promise:
      let promise = Promise("code", diagnostics: diagnostics, body)
      manager.add(promise, at: place)
      try await promise.value
    case .link:
      // Done before the code begins.
      let root = Promise<Int>("code", diagnostics: diagnostics) { resolve, _ in resolve(1) }
      let promise = root.map { _ in try await body() }
      manager.add(promise, at: place)
      try await promise.value
    }
  }
}

/// The ways to cancel waiting steps.
enum Removal: CaseIterable, Sendable {
  case cancel, cancelWaiting, cancelAll

  func perform(on manager: PromiseManager, _ cancel: () -> Void) {
    switch self {
    case .cancel: cancel()
    case .cancelWaiting: manager.cancelWaiting()
    case .cancelAll: manager.cancelAll()
    }
  }
}

/// Code that has begun, and continues when a test says so.
final class HeldCode: Sendable {
  let begun = Gate()
  let proceed = Gate()

  func callAsFunction() async {
    begun.open()
    await proceed.passed()
  }
}

extension PromiseManager {
  /// Adds a step that runs until its `then`, which is returned, is called.
  func hold() -> Taken {
    let taken = Taken()
    add(taken.handler)
    return taken
  }

  /// Adds a step that runs until another one waits.
  func holdUntilOneWaits() {
    let first = hold()
    Task {
      await waiting(1)
      first.call()
    }
  }
}
