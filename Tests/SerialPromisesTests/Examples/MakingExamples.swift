import Testing

@testable import SerialPromises

/// The examples in the documentation comments of promises and deferreds.
struct MakingExamples: StandIns {
  let log = Log<String>()

  // Fails if a promise does not have the documented outcome.
  @Test("cold promises")
  func cold() async throws {
    let answer = Promise<Int>("answer") { resolve, _ in
      ask { answer in resolve(answer) }
    }
    #expect(try await answer.value == 42)
    let page = Promise("page") { try await load(url) }
    page.start()  // loads now, even if nothing awaits the value yet
    #expect(try await page.value == "text of page")
    switch page.state {
    case .pending: show("loading")
    case .fulfilled(let text): show(text)
    case .failed(let error): show(error)
    }
    let percent = Int(page.progress * 100)
    let button = page.isCancellable ? "Cancel" : "Please wait"
    #expect(percent == 100 && button == "Please wait")
    #expect(log.all == ["text of page"])
    let other = Promise { try await load(url) }
    if other.cancel() { show("called off") }  // unless it was settled already
    #expect(log.all == ["text of page", "called off"])
  }

  // Fails if a hot promise does not have the documented outcome.
  @Test("hot promises")
  func hot() async throws {
    let (cache, user) = (["home": "cached"], User())
    func page(_ url: String) -> Promise<String> {
      if let text = cache[url] { return .value(text) }
      return fetch(url)
    }
    #expect(try await page("home").value == "cached")
    func find(_ url: String) -> Promise<String> {
      url.isEmpty ? .failure(Missing()) : fetch(url)
    }
    await #expect(throws: Missing()) { try await find("").value }
    let reminder = Promise.value("Save your work", after: .milliseconds(5))
    #expect(try await reminder.value == "Save your work")
    let late = Promise<String>.failure(TooSlow(), after: .seconds(30))
    let avatar = Promise.race([fetchAvatar(of: user), late])
    #expect(try await avatar.value == "Ada.png")
    let sum = Promise.on(.global()) { checksum(file) }
    #expect(try await sum.value == 5)
  }

  // Fails if the deferred's calls do not reach its promise.
  @Test("a deferred")
  func settling() async throws {
    let deferred = Deferred<Int>("answer")
    ask { answer in deferred.fulfill(answer) }
    let answer = try await deferred.promise.value
    #expect(answer == 42)
    do {
      let deferred = Deferred<String>()
      fetchName { name, error in
        guard let name else { return deferred.fail(error ?? Missing()) }
        deferred.fulfill(name)
      }
      await #expect(throws: Missing()) { try await deferred.promise.value }
    }
    if !deferred.tryFulfill(43) { show("settled already") }
    deferred.tryFail(TooSlow())  // no effect if the answer came in time
    #expect(log.all == ["settled already"])
    do {
      let deferred = Deferred<String>()
      let transfer = Transfer(file) { error in
        if let error { deferred.tryFail(error) }
      }
      deferred.onCancel { transfer.stop() }
      deferred.progress(0.5)
      #expect(deferred.promise.progress == 0.5)
      #expect(deferred.promise.cancel())
    }
  }

  // Fails if a promise is not passed on unchanged.
  @Test("promises for promises")
  func joining() async throws {
    let nested = login().map { user in fetchAvatar(of: user) }  // a promise of a promise
    let avatar = try await nested.then { $0 }.value
    #expect(avatar == "Ada.png")
    let deferred = Deferred<User>()
    login().relay(to: deferred)
    let user = try await deferred.promise.value
    #expect(user == User())
    let (crop, sharpen):
      (@Sendable (String) -> Promise<String>, @Sendable (String) -> Promise<String>) = (
        { image in .value("cropped \(image)") }, { image in .value("sharp \(image)") }
      )
    let image = chain(initial: fetchAvatar(of: user), [crop, sharpen])
    #expect(try await image.value == "sharp cropped Ada.png")
  }
}
