import Testing

@testable import SerialPromises

/// The examples in the documentation comments of combinations, errors and diagnostics.
struct ErrorExamples: StandIns {
  let log = Log<String>()

  // Fails if a value is misplaced.
  @Test("combinations")
  func combinations() async throws {
    let pages = try await when(["home": fetch("a"), "news": fetch("b")]).value
    let news = pages["news"]
    #expect(news == "text of b")
    let both = try await when(resolved: [fetch(mirror), fetch(origin)]).value
    // The values of the successful ones.
    let texts = both.compactMap { outcome in try? outcome.get() }
    #expect(texts == ["text of origin"])
    let user = User(name: "Ada")
    let copy = Promise.any(fetch(mirror), fetch(origin))
    #expect(try await copy.value == "text of origin")
    let late = Promise<String>.failure(TooSlow(), after: .seconds(30))
    let quick = Promise.race(fetchAvatar(of: user), late)
    #expect(try await quick.value == "Ada.png")
  }

  // Fails if an error does not identify its promise, or its reason.
  @Test("the errors of combinations and of retries")
  func failures() async throws {
    let urls = ["a", "missing"]
    let whenEnd = when(urls.map { url in fetch(url) }).catch { error in
      guard let failure = error as? WhenError<Int> else { throw error }
      show("\(urls[failure.position]): \(failure.underlying)")
    }
    try await whenEnd.value
    let anyEnd = Promise.any([fetch(mirror), fetch("missing")]).catch { error in
      guard let failure = error as? AllFailedError else { throw error }
      for error in failure.errors { show(error) }
    }
    try await anyEnd.value
    let retryEnd = fetch("missing").retry(2).catch { error in
      guard let failure = error as? RetryError else { throw error }
      show("\(failure.attempts) attempts: \(failure.lastError)")
    }
    try await retryEnd.value
    let missing = "Missing()"
    #expect(log.all == ["missing: \(missing)", missing, missing, "3 attempts: \(missing)"])
  }

  // Fails if the time before an attempt is not the documented one.
  @Test("time")
  func time() async throws {
    let (page, user) = (fetch(url), User())
    // Attempts after 1, 2, 4 and 8 seconds.
    let slower = page.retry(4, delay: .seconds(1), backoff: .exponential)
    // Attempts after 1, 2, 3 and 4 seconds.
    let steady = page.retry(4, delay: .seconds(1), backoff: .linear)
    // An attempt after each second.
    let stubborn = page.retry(4, delay: .seconds(1), backoff: .constant)
    #expect((1...4).map(Backoff.exponential.factor) == [1, 2, 4, 8])
    #expect((1...4).map(Backoff.linear.factor) == [1, 2, 3, 4])
    #expect((1...4).map(Backoff.constant.factor) == [1, 1, 1, 1])
    #expect(try await when([slower, steady, stubborn]).value.count == 3)
    let later = fetch(url).delay(.milliseconds(5))
    let avatar = fetchAvatar(of: user).timeout(.seconds(30))
    #expect(try await avatar.value == "Ada.png")
    #expect(try await later.value == "text of page")
  }

  // Fails if an error is not the one that is caught here.
  @Test("errors of the library")
  func errors() async throws {
    let manager = PromiseManager()
    manager.close()
    do {
      _ = try await manager.run { try await load(url) }
    } catch PromiseError.closed {
      show("closed: nothing was loaded")
    } catch PromiseError.full(let capacity) {
      show("\(capacity) steps wait already")
    }
    #expect(log.all == ["closed: nothing was loaded"])
  }

  // Fails if a diagnostic does not reach its handler.
  @Test("diagnostics handlers")
  func diagnostics() async {
    let failures = DiagnosticHandler { diagnostic in
      if case .unhandledFailure(let promise, let error) = diagnostic {
        log.warning("\(promise): \(error)")
      }
    }
    do { _ = Deferred<Int>("answer", diagnostics: failures) }
    #expect(log.removeAll().count == 1)
    let both = DiagnosticHandler { diagnostic in
      log.warning("\(diagnostic)")
      DiagnosticHandler.silent.report(diagnostic)
    }
    do {
      let logging = DiagnosticHandler { log.warning("\($0)") }
      let manager = PromiseManager(diagnostics: logging)
      manager.add { then in
        then()
        then()
      }
      #expect(log.removeAll().count == 1)
    }
    let careless = PromiseManager(diagnostics: .silent)
    let loud = PromiseManager(diagnostics: .standardError)
    for manager in [careless, loud] { await manager.idle() }
    both.report(.refused(.closed))
    #expect(log.count == 1)
    let before = DiagnosticHandler.shared
    DiagnosticHandler.shared = DiagnosticHandler { log.warning("\($0)") }
    DiagnosticHandler.shared = before
  }

  // Fails if a promise has no name or location.
  @Test("the identity of a promise")
  func identity() {
    let reports = Reports()
    func title(of promise: PromiseIdentity) -> String {
      promise.name ?? "\(promise.file):\(promise.line)"
    }
    for name in ["answer", nil] {
      let deferred = Deferred<Int>(name, diagnostics: reports.place)
      deferred.fulfill(1)
      deferred.fulfill(2)
    }
    let titles = reports.all.compactMap { diagnostic -> String? in
      guard case .settledAgain(let promise) = diagnostic else { return nil }
      return title(of: promise)
    }
    #expect(titles.first == "answer")
    #expect(titles.last?.hasPrefix("SerialPromisesTests/ErrorExamples.swift:") == true)
  }
}
