import Testing

@testable import SerialPromises

private struct NoName: Error {}

/// The examples in the documentation comments of promises and chains.
struct PromiseExamples: StandIns {
  let log = Log<String>()

  /// A download with callbacks, as in many libraries.
  private final class Download: Sendable {
    private let progress: @Sendable (Double) -> Void

    init(_ url: String, _ progress: @escaping @Sendable (Double) -> Void) {
      self.progress = progress
    }

    func start(_ completion: @escaping @Sendable (String) -> Void) {
      progress(0.5)
      completion("data")
    }

    func stop() {}
  }

  /// Keeps the output of a test run to the results of its tests.
  private func print(_ text: Any) {}

  private func fetchName(_ completion: @escaping @Sendable (String?, (any Error)?) -> Void) {
    completion("Ada", nil)
  }

  private func resize(_ image: String) -> String { "small \(image)" }
  private func fetchPerson(_ id: Int) -> Promise<String> { Promise { "person \(id)" } }
  private func fetchUser() -> Promise<User> { .value(User()) }
  private func fetchSettings() -> Promise<[String: Bool]> { .value(["dark": true]) }

  // Fails if a task with callbacks does not settle its promise.
  @Test("a promise created from callbacks")
  func greeting() async throws {
    let greeting = Promise<String> { resolve, reject in
      fetchName { name, error in
        if let name { resolve(name) } else { reject(error ?? NoName()) }
      }
    }
    let line = greeting.map { name in "Hello, \(name)" }
    print(try await line.value)
    #expect(try await line.value == "Hello, Ada")
  }

  // Fails if progress or the value does not arrive.
  @Test("a promise that reports progress and can be canceled")
  func transfer() async throws {
    let url = "file:a"
    let file = Promise<String> { deferred in
      let download = Download(url) { deferred.progress($0) }
      deferred.onCancel { download.stop() }
      download.start { data in deferred.fulfill(data) }
    }
    #expect(try await file.value == "data")
  }

  // Fails if the deferred does not settle its promise.
  @Test("a deferred settles its promise")
  func deferred() async throws {
    func answer() -> Promise<Int> {
      let deferred = Deferred<Int>()
      ask { answer in deferred.fulfill(answer) }
      return deferred.promise
    }
    #expect(try await answer().value == 42)
  }

  // Fails if a chain does not pass its value on.
  @Test("chains")
  func chains() async throws {
    login()
      .then { user in fetchAvatar(of: user) }
      .catch { error in print(error) }
    let avatar = login()
      .then { user in fetchAvatar(of: user) }
      .map { image in resize(image) }
    #expect(try await avatar.value == "small Ada.png")
    let (photo, upload) = ("photo", { @Sendable (image: String) in Promise.value("sent \(image)") })
    let crop = { @Sendable (image: String) in Promise.value("cropped \(image)") }
    let sharpen = { @Sendable (image: String) in Promise.value("sharp \(image)") }
    let image = chain(initial: photo, [crop, sharpen, upload])
    #expect(try await image.value == "sent sharp cropped photo")
  }

  // Fails if combinations do not give the documented values.
  @Test("combinations")
  func combinations() async throws {
    let (ids, urls) = ([1, 2], ["a", "b", "c"])
    let people = when(ids.map { fetchPerson($0) })
    #expect(try await people.value == ["person 1", "person 2"])
    let (user, settings) = try await when(fetchUser(), fetchSettings()).value
    #expect(user == User() && settings["dark"] == true)
    let page = Promise.any([fetch(mirror), fetch(origin)])
    #expect(try await page.value == "text of origin")
    let fetch = fetch
    let results = when(resolved: urls.lazy.map { fetch($0) }, concurrently: 4)
    #expect(try await results.value.count == urls.count)
    let pages = when(urls.lazy.map { url in fetch(url) }, concurrently: 4)
    #expect(try await pages.value.count == 3)
  }

  // Fails if a cancellation reaches a promise with other dependents, or misses one without.
  @Test("canceling a combination")
  func canceling() async throws {
    let deferreds = (0..<2).map { _ in Deferred<Int>() }
    for deferred in deferreds { deferred.onCancel {} }
    let wanted = deferreds[1].promise.map { $0 }
    let all = when(deferreds.map(\.promise))
    all.cancel()
    deferreds[1].fulfill(1)
    #expect(try await wanted.value == 1)
    #expect(!deferreds[0].tryFulfill(1))
  }

  // Fails if a chain cannot be restarted.
  @Test("retries")
  func retry() async throws {
    let url = "page"
    let page = Promise { try await load(url) }
      .map { data in try parse(data) }
      .retry(3, delay: .seconds(1), backoff: .exponential)
    #expect(try await page.value == 12)
  }

  // MARK: Chains

  // Fails if a value or an error does not reach the documented handler.
  @Test("synchronous handlers")
  func synchronous() async throws {
    let file = file
    let greeting = login().map { user in "Hello, \(user.name)" }
    #expect(try await greeting.value == "Hello, Ada")
    let name = login().map { user in user.name }
    #expect(try await name.value == "Ada")
    let page = fetch(url).tap { outcome in show(outcome) }
    let length =
      page
      .map { text in text.count }
      .finally { show("loaded") }
    #expect(try await length.value == 12)
    #expect(log.all == ["success(\"text of page\")", "loaded"])
    #expect(file == "photo")
  }

  // Fails if a failure is not handled, or by another handler than the documented one.
  @Test("failures")
  func failures() async throws {
    let text = fetch("missing").recover { _ in "no text" }
    #expect(try await text.value == "no text")
    let page = fetch(mirror).recover { _ in fetch(origin) }
    #expect(try await page.value == "text of origin")
    let length = fetch("missing")
      .map { text in try parse(text) }
      // What `parse` throws is still a failure.
      .recover(from: Missing.self) { _ in 0 }
    #expect(try await length.value == 0)
    let copy = fetch(mirror)
      .recover(from: Missing.self) { _ in fetch(origin) }
    #expect(try await copy.value == "text of origin")
    let end = fetch("missing")
      .map { text in show(text) }
      .catch { error in show(error) }
    try await end.value
    #expect(log.all == ["Missing()"])
  }

  // Fails if an asynchronous handler is not awaited.
  @Test("asynchronous handlers")
  func asynchronous() async throws {
    let page = login().map { user in try await load(user.name) }
    #expect(try await page.value == "text of Ada")
    let avatar = login().then { user in
      fetchAvatar(of: try await refresh(user))
    }
    #expect(try await avatar.value == "Ada.png")
    let copy = fetch(mirror).recover { _ in try await load(origin) }
    #expect(try await copy.value == "text of origin")
    let last = fetch(url).finally {
      if await isOffline() { show("offline") }
    }
    let text = try await fetch(url).value
    #expect(try await last.value == text)
    let shown = fetch(url).finally(on: .main) { show("loaded") }
    #expect(try await shown.value == text)
    do {
      let avatar = login().then(on: .main) { user in fetchAvatar(of: user) }
      #expect(try await avatar.value == "Ada.png")
      let sum = fetch(url).map(on: .global()) { text in checksum(text) }
      #expect(try await sum.value == text.utf8.count)
    }
  }

  // Fails if the thread continues before the value is available.
  @Test("blocking")
  func blocking() throws {
    let sum = try Promise.on(.global()) { checksum(file) }.wait()
    #expect(sum == 5)
  }

  // Fails if a step in code of the main actor does not belong to it.
  @MainActor
  @Test("a step in code of the main actor")
  func stepOnMain() async {
    let (manager, label) = (PromiseManager(), Label())
    manager.add { then in
      label.text = "loading"
      then()
    }
    await manager.idle()
    #expect(label.text == "loading")
  }

  // Fails if a callback is not called.
  @Test("callbacks, which create no new promise")
  func callbacks() async {
    let (page, label, bar) = (fetch(url), Label(), Label())
    page.fulfilled { text in show(text) }
    page.failed { error in show(error) }
    page.progressed { fraction in show("\(Int(fraction * 100)) %") }
    await page.waitForHandlers()
    #expect(log.all == ["100 %", "text of page"])
    page.fulfilled { @MainActor text in label.text = text }
    page.failed { @MainActor error in label.text = "\(error)" }
    page.progressed { @MainActor fraction in bar.text = "\(Int(fraction * 100)) %" }
    // Runs after those on the same queue.
    let (told, toldProgress) = (Gate(), Gate())
    page.fulfilled { @MainActor _ in told.open() }
    page.progressed { @MainActor _ in toldProgress.open() }
    await told.passed()
    await toldProgress.passed()
    #expect(await [label.text, bar.text] == ["text of page", "100 %"])
  }
}
