import Dispatch
import Testing

@testable import SerialPromises

/// A network that answers on another thread, with callbacks.
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

  /// The same, as a promise: all that it takes to leave callbacks behind.
  static func request(_ path: String) -> Promise<String> {
    Promise { resolve, reject in
      request(path) { result in
        switch result {
        case .success(let answer): resolve(answer)
        case .failure(let error): reject(error)
        }
      }
    }
  }
}

/// The stories that callbacks are told for, before and after.
struct OutOfCallbackHell {
  private struct NoAuthority: Error {}
  private struct Exists: Error {}

  private let log = Log<String>()
  private let done = Gate()

  private func show(_ text: String) {
    log.append(text)
    done.open()
  }

  // Fails if the three answers do not come one after another.
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

  // Fails if a condition does not end the chain, or its error is not dealt with in one place.
  @Test("authority, exists, submit: each condition is a line, and errors are in one place")
  func conditions() async throws {
    let report = submitIfAllowed("new")
      .recover(from: Exists.self) { _ in "there is one already" }
      .recover { error in "failed: \(error)" }
    #expect(try await report.value == "<submit new>")
    let taken = submitIfAllowed("taken").recover(from: Exists.self) { _ in "there is one already" }
    #expect(try await taken.value == "there is one already")
  }

  // Fails if the same flow as steps goes on after a condition that does not hold.
  @Test("authority, exists, submit, as steps that stop at the first that fails")
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

  // Fails if A, B and C are not in this order, whenever they call then.
  @Test("A, B and C run one after another, whenever they call then")
  func letters() async {
    let manager = PromiseManager()
    manager.add { then in
      DispatchQueue.global().async {
        log.append("A")
        then()
      }
    }
    manager.add { then in
      log.append("B")
      then()
    }
    manager.add { then in
      DispatchQueue.global().async {
        log.append("C")
        then()
      }
    }
    await manager.idle()
    #expect(log.all == ["A", "B", "C"])
  }

  // Fails if it begins before it is wanted, or the links are in another order.
  @Test("delay, fetch, decode: a cold promise")
  func cold() async throws {
    let clock = ManualClock()
    let decoded = Promise<Void> { resolve, _ in resolve(()) }
      .delay(.seconds(1), clock: clock)
      .then { Network.request("numbers") }
      .map { answer in answer.count }
    #expect(clock.sleepers == 0)
    decoded.start()
    await clock.somebodySleeps()
    clock.advance(by: .seconds(1))
    #expect(try await decoded.value == 9)
  }

  // Fails if a promise of a promise is not waited for.
  @Test("a promise that is resolved with a promise, at any depth, is that promise")
  func recursion() async throws {
    @Sendable func countDown(_ number: Int) -> Promise<String> {
      Promise.value(number).then { number in
        number == 0 ? Promise.value("lift-off") : countDown(number - 1)
      }
    }
    #expect(try await countDown(100).value == "lift-off")
  }
}
