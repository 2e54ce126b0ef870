import Testing

@testable import SerialPromises

/// The examples in the documentation comments of managers.
struct ManagerExamples: StandIns {
  let log = Log<String>()

  private func fetch() async throws -> Int {
    show("fetch")
    return 42
  }

  // Fails if steps do not run in the order of addition.
  @Test("the steps of the landing page run in order")
  func landingPage() async throws {
    let manager = PromiseManager()
    manager.add { then in download { then() } }
    manager.add("upload") { then in upload { error in then(error) } }
    let value = try await manager.run { try await fetch() }
    await manager.idle()
    #expect(value == 42)
    #expect(log.all == ["download", "upload", "fetch"])
  }

  // Fails if a step of any kind is not run, or not in its turn.
  @Test("all kinds of steps that can be added")
  func adding() async throws {
    let manager = PromiseManager()
    manager.add { then in download { then() } }
    let upload = Step("upload") { then in self.upload(file) { then($0) } }
    manager.add(upload)
    let page = Promise { try await load(url) }
    manager.add(page)  // starts in its turn
    await manager.idle()
    #expect(log.all == ["download", "upload photo"])
    #expect(text(page.state) == "text of page")
  }

  // Fails if a step is lost, or the setting is not passed on.
  @Test("several steps at once, and a manager that is created with them")
  func several() async throws {
    do {
      let manager = PromiseManager()
      let page = Promise { try await load(url) }
      let photo = Step("photo") { then in upload(file) { then($0) } }
      let handles = manager.add(contentsOf: [page, photo])
      await manager.idle()
      #expect(handles.map(\.id) == [1, 2])
      #expect(log.removeAll() == ["upload photo"])
      #expect(text(page.state) == "text of page")
    }
    let login = Step("login") { then in download { then() } }
    let page = Promise { try await load(url) }
    let manager = PromiseManager([login, page], onFailure: .stop)
    await manager.idle()
    #expect(log.all == ["download"])
    #expect(text(page.state) == "text of page")
  }

  // Fails if a request that was replaced is sent, or the latest one is not.
  @Test("the latest of the requests that wait replaces the one before")
  func replacing() async throws {
    let manager = PromiseManager()
    manager.pause()
    // What is typed into a search field: of the requests that wait, only the latest one matters.
    var latest: StepHandle?
    for text in ["s", "sw", "swift"] {
      let page = Promise { try await load(text) }
      latest = manager.add(page, at: latest.map { .replacing($0) } ?? .last)
    }
    #expect(manager.waitingCount == 1)
    manager.resume()
    try await latest?.outcome.get()
    #expect(latest?.id == 3)
  }

  // Fails if the turn is not taken on an idle manager.
  @Test("a turn only if it begins at once")
  func available() async throws {
    let manager = PromiseManager()
    let draft = "draft"
    @Sendable func save(_ draft: String) async throws { show(draft) }
    let isSaved = try await manager.withTurnIfAvailable { try await save(draft) } != nil
    #expect(isSaved && log.all == ["draft"])
  }

  // Fails if a step is not added at its position.
  @Test("a step's place in the queue")
  func places() async throws {
    let manager = PromiseManager()
    do {
      manager.pause()
      manager.add("upload") { then in upload(file) { error in then(error) } }
      manager.add("login", at: .first) { then in download { then() } }
      manager.resume()
      await manager.idle()
      #expect(log.removeAll() == ["download", "upload photo"])
    }
    do {
      manager.pause()
      let photo = manager.add("photo") { then in upload(file) { then($0) } }
      manager.add("login", at: .before(photo)) { then in download { then() } }
      photo.move(to: .first)  // now it runs before the login
      manager.add(at: .first) { then in download { then() } }
      manager.resume()
      await manager.idle()
      #expect(log.removeAll() == ["download", "upload photo", "download"])
    }
    manager.pause()
    manager.add { then in download { then() } }
    let urgent = Step("urgent") { then in self.upload(file) { error in then(error) } }
    manager.add(urgent, at: .first)
    let page = Promise { try await load(url) }
    manager.add(page, at: .first)  // starts before all waiting steps
    manager.resume()
    #expect(try await page.value == "text of page")
    await manager.idle()
    #expect(log.all == ["upload photo", "download"])
  }

  // Fails if an argument of the initializer has no effect.
  @Test("a manager's settings")
  func settings() async {
    let manager = PromiseManager(
      on: .global(), onFailure: .stop, capacity: 100, timeLimit: .seconds(30))
    let polite = PromiseManager(rate: Rate(10, per: .seconds(1)))
    manager.add { then in then(Missing()) }
    await polite.idle()
    await manager.idle()
    #expect(manager.failure is Missing)
    // Keeps the waiting steps until `resume`.
    let deploy = PromiseManager(onFailure: .stop)
    // Runs the waiting steps. The default.
    let backup = PromiseManager(onFailure: .continue)
    // Cancels the waiting steps.
    let draft = PromiseManager(onFailure: .cancelRest)
    for manager in [deploy, backup, draft] {
      manager.pause()
      manager.add { then in then(Missing()) }
      manager.add { then in download { then() } }
      manager.resume()
    }
    #expect([deploy, backup, draft].map(\.waitingCount) == [1, 0, 0])
    #expect(log.count == 1)
  }

  // Fails if a waiting step runs during a pause, or does not run after it.
  @Test("pause and resume, manually and after a failure")
  func pausing() async {
    let log = log
    do {
      let manager = PromiseManager()
      manager.pause()
      manager.add { then in download { then() } }
      let backlog = "\(manager.waitingCount) to go"  // 1 to go
      let button = manager.isPaused ? "Resume" : "Pause"
      #expect([backlog, button] == ["1 to go", "Resume"])
      #expect(log.all.isEmpty)
    }
    let manager = PromiseManager(onFailure: .stop)
    manager.add { then in upload("missing") { error in then(error) } }
    if let failure = manager.failure {
      log.warning("stopped: \(failure)")
      manager.resume()  // continues with the next step
    }
    #expect(log.all == ["upload missing", "stopped: Missing()"])
  }

  // Fails if a closed manager accepts steps, or canceled ones run.
  @Test("closing and canceling")
  func ending() async {
    let manager = PromiseManager(diagnostics: .silent)
    manager.cancelAll()
    await manager.idle()  // the running step has ended
    manager.cancelAll(grace: .seconds(5))
    // After five seconds at most, if the running handler has returned.
    await manager.idle()
    let bar = String(repeating: "#", count: Int(manager.progress * 20))
    #expect(bar.isEmpty || bar.count == 20)
    manager.close()
    let late = manager.add { then in download { then() } }
    // PromiseError.closed
    if case .failed(let error) = await late.outcome { show(error) }
    if !manager.isClosed {
      manager.add { then in download { then() } }
    }
    #expect(log.all == ["\(PromiseError.closed)"])
  }

  // Fails if `idle` returns before the added steps have ended.
  @Test("waiting until all steps have ended")
  func idle() async throws {
    let manager = PromiseManager()
    manager.add { then in download { then() } }
    await manager.idle()
    show("all done")
    #expect(log.all == ["download", "all done"])
  }

  // Fails if the thread is not blocked until the end.
  @Test("blocking until all steps have ended")
  func blocking() throws {
    func downloadTwice() throws {
      let manager = PromiseManager()
      manager.add { then in download { then() } }
      manager.add { then in download { then() } }
      try manager.waitUntilIdle(timeout: .seconds(60))
    }
    try downloadTwice()
    #expect(log.all == ["download", "download"])
  }

  // Fails if a full manager refuses a step whose caller waits for room.
  @Test("waiting for room")
  func room() async throws {
    let manager = PromiseManager(capacity: 2)
    for url in urls {
      try await manager.addWhenRoom { then in upload(url) { then($0) } }
    }
    await manager.idle()
    #expect(log.all == ["upload a", "upload b"])
    do {
      let manager = PromiseManager(capacity: 2)
      for url in urls {
        try await manager.addWhenRoom(Promise(url) { try await load(url) })
      }
      await manager.idle()
      #expect(manager.waitingCount == 0)
    }
  }

  // Fails if the values are not those of the promises, in order.
  @Test("promises one at a time")
  func serially() async throws {
    let manager = PromiseManager()
    let pages = manager.serially(urls.map { url in fetch(url) })
    let texts = try await pages.value
    #expect(texts == ["text of a", "text of b"])
  }

  // Fails if an event is missing.
  @Test("listening")
  func listening() async {
    let manager = PromiseManager()
    let events = manager.events()
    manager.add("upload") { then in upload(file) { error in then(error) } }
    listening: for await event in events {
      switch event {
      case .added(let step): show("\(step) waits")
      case .started(let step): show("\(step) runs")
      case .finished(let step, let outcome, _): show("\(step) \(outcome)")
      case .idle: break listening
      }
    }
    let shown = ["waits", "runs", "succeeded"].map { "step \"upload\" \($0)" }
    #expect(log.all == ["upload photo"] + shown)
  }

  // MARK: As other queues

  // Fails if the promise is not settled with the result.
  @Test("a result of other code")
  func results() async throws {
    let lookUp = { @Sendable (done: @Sendable (Result<String, Missing>) -> Void) in
      done(.success("Ada"))
    }
    let deferred = Deferred<String>()
    lookUp { result in deferred.settle(with: result) }
    let name = try await deferred.promise.value
    #expect(name == "Ada")
    do {
      let deferred = Deferred<Int>()
      deferred.settle(with: .success(42))
      #expect(try await deferred.promise.value == 42)
    }
  }

  // Fails if the second call does not wait for the first.
  @Test("asynchronous work from synchronous code")
  func enqueuing() async throws {
    let (manager, draft) = (PromiseManager(), "draft")
    let save = { @Sendable (draft: String) async throws in show("saved \(draft)") }
    manager.enqueue("save") { try await save(draft) }
    let page = manager.enqueue { try await load(url) }
    show(try await page.value)  // when the draft has been saved
    #expect(log.all == ["saved draft", "text of page"])
  }

  // Fails if a function in hand is not the work.
  @Test("functions in hand")
  func inHand() async throws {
    let manager = PromiseManager()
    let handler: Promisable.Handler = { then in download { then() } }
    do {
      let user = try await manager.run { try await fetchUser() }
      #expect(user == User())
    }
    do {
      let user = try await manager.run(fetchUser)
      #expect(user.name == User().name)
    }
    do {
      let user = manager.enqueue(fetchUser)
      #expect(try await user.value.name == User().name)
    }
    do {
      let user = try await manager.withTurn(fetchUser)
      #expect(user.name == User().name)
    }
    do {
      let manager = PromiseManager()
      let user = try await manager.withTurnIfAvailable(fetchUser)
      #expect(user?.name == User().name)
    }
    let handle = try await manager.addWhenRoom(handler)
    #expect(text(await handle.outcome) == "succeeded")
    #expect(log.all == ["download"])
  }

  // Fails if the rate differs from the argument.
  @Test("a manager with a rate")
  func rates() async {
    let polite = PromiseManager(rate: Rate(10, per: .seconds(1)))
    polite.add { then in download { then() } }
    await polite.idle()
    #expect(log.all == ["download"])
    let rate = Rate(10, per: .seconds(1))
    let shown = "\(rate.starts) per \(rate.interval)"  // 10 per 1.0 seconds
    #expect(shown == "10 per 1.0 seconds")
  }

  // Fails if the running step does not end by itself.
  @Test("canceling waiting steps")
  func dropping() async {
    let manager = PromiseManager()
    manager.cancelWaiting()
    await manager.idle()  // the running step has ended, in its own time
    let canQuit = manager.isIdle  // nothing would be lost
    let status = manager.runningStep.map { "\($0) runs" } ?? "nothing runs"
    #expect(canQuit && status == "nothing runs")
  }

  // Fails if the first wait does not return while a step waits, or the second permits more steps
  // than its limit.
  @Test("waiting until no step runs, and for fewer steps")
  func waiting() async {
    let manager = PromiseManager()
    do {
      let step = manager.add { then in then() }
      manager.pause()
      // The running step has ended; the others still wait.
      await manager.atRest()
      manager.resume()
      #expect(text(await step.outcome) == "succeeded")
    }
    for url in urls {
      await manager.fewerWaiting(than: 10)
      manager.add { then in upload(url) { error in then(error) } }
    }
    await manager.idle()
    #expect(log.all == ["upload a", "upload b"])
  }
}
