import Testing

@testable import SerialPromises

/// The examples in the documentation comments of chains.
struct ChainExamples: StandIns {
  let log = Log<String>()

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
