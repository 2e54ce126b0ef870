import Testing

@testable import SerialPromises

/// The examples in the documentation comments of methods that other queues have, too.
struct QueueExamples: StandIns {
  let log = Log<String>()

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
