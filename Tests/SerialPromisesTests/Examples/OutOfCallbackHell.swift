import Dispatch
import Testing

@testable import SerialPromises

/// A network that responds on another thread, with callbacks.
private enum Network {
  typealias Completion = @Sendable (Result<String, any Error>) -> Void

  static func request(_ path: String, _ completion: @escaping Completion) {
    DispatchQueue.global().async {
      if path.contains("missing") {
        completion(.failure(Failed(number: 404)))
      } else {
        completion(.success("<\(path)>"))
      }
    }
  }

}

/// The same request as a promise.
extension Network {
  static func request(_ path: String) -> Promise<String> {
    Promise { deferred in
      request(path) { result in deferred.settle(with: result) }
    }
  }
}

/// Typical callback code, before and after.
struct OutOfCallbackHell {
  private struct NoAuthority: Error {}
  private struct Exists: Error {}

  private let log = Log<String>()
  private let done = Gate()

  private func show(_ text: String) {
    log.append(text)
    done.open()
  }

  // Fails if the three responses do not arrive one after another.
  @Test("three nested requests, as callbacks, as steps, and as a chain")
  func nested() async throws {
    Network.request("user") { user in
      guard let user = try? user.get() else { return }
      Network.request("friends of \(user)") { friends in
        guard let friends = try? friends.get() else { return }
        Network.request("photos of \(friends)") { photos in
          guard let photos = try? photos.get() else { return }
          show(photos)
        }
      }
    }
    await done.passed()

    let manager = PromiseManager(onFailure: .stop)
    let answer = Locked("")
    for path in ["user", "friends of ", "photos of "] {
      manager.add { then in
        Network.request(path + answer.withLock { $0 }) { result in
          do {
            let text = try result.get()
            answer.withLock { $0 = text }
            then()
          } catch { then(error) }
        }
      }
    }
    await manager.idle()
    show(answer.withLock { $0 })

    let photos = Network.request("user")
      .then { user in Network.request("friends of \(user)") }
      .then { friends in Network.request("photos of \(friends)") }
    show(try await photos.value)
    #expect(log.all == Array(repeating: "<photos of <friends of <user>>>", count: 3))
  }

  private func hasAuthority(_ completion: @escaping @Sendable (Bool) -> Void) { completion(true) }
  private func hasAuthority() -> Promise<Bool> { .value(true) }
  private func exists(_ name: String) -> Promise<Bool> { .value(name == "taken") }
  private func submit(_ name: String) -> Promise<String> { Network.request("submit \(name)") }

  private func submitIfAllowed(_ name: String) -> Promise<String> {
    hasAuthority()
      .then { isAllowed in
        guard isAllowed else { throw NoAuthority() }
        return exists(name)
      }
      .then { isTaken in
        guard !isTaken else { throw Exists() }
        return submit(name)
      }
  }

  // Fails if a condition does not end the chain, or its error is not handled in one place.
  @Test("authority, exists, submit: each condition is a line, and errors are handled in one place")
  func conditions() async throws {
    let report = submitIfAllowed("new")
      .recover(from: Exists.self) { _ in "there is one already" }
      .recover { error in "failed: \(error)" }
    #expect(try await report.value == "<submit new>")
    let taken = submitIfAllowed("taken")
      .recover(from: Exists.self) { _ in "there is one already" }
    #expect(try await taken.value == "there is one already")
    let reports = when([submitIfAllowed("new"), submitIfAllowed("taken")])
      .recover(from: WhenError<Int>.self) { failure in
        guard failure.underlying is Exists else { throw failure }
        return ["there is one already"]
      }
    #expect(try await reports.value == ["there is one already"])
  }

  // Fails if the same flow as steps continues after a failed condition.
  @Test("authority, exists, submit, as steps that stop at the first failure")
  func conditionsAsSteps() async {
    let manager = PromiseManager(onFailure: .stop)
    manager.add(
      Step("authority") { then in
        hasAuthority { isAllowed in then(isAllowed ? nil : NoAuthority()) }
      })
    manager.add(Step("exists") { then in then(Exists()) })
    let submit = manager.add(
      Step("submit") { then in
        log.append("submitted")
        then()
      })
    #expect(manager.failure is Exists)
    #expect(text(submit.state) == "waiting")
    submit.cancel()
    await manager.idle()
    #expect(log.all.isEmpty)
  }

  // Fails if A, B and C do not run in this order, regardless of the time of each then.
  @Test("A, B and C run one at a time, regardless of the time of each then")
  func letters() async {
    let manager = PromiseManager()
    manager.add { then in
      DispatchQueue.global().async {
        show("A")
        then()
      }
    }
    manager.add { then in
      show("B")
      then()
    }
    manager.add { then in
      DispatchQueue.global().async {
        show("C")
        then()
      }
    }
    await manager.idle()
    #expect(log.all == ["A", "B", "C"])
  }
}
