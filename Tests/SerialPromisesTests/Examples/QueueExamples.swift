import Testing

@testable import SerialPromises

/// What the documentation comments show of words that other queues have, too.
struct QueueExamples: StandIns {
  let log = Log<String>()

  // Fails if a result is not what settles the promise.
  @Test("a result of somebody else's")
  func results() async throws {
    let lookUp = { @Sendable (done: @Sendable (Result<String, Missing>) -> Void) in
      done(.success("Ada"))
    }
    let deferred = Deferred<String>()
    lookUp { result in deferred.settle(with: result) }
    let name = try await deferred.promise.value
    #expect(name == "Ada")
    do {
      let (deferred, text) = (Deferred<Int>(), "text")
      deferred.trySettle(with: Result { try parse(text) })  // nothing, if somebody was first
      #expect(try await deferred.promise.value == 4)
    }
  }

  // Fails if the running step does not end by itself.
  @Test("dropping what waits")
  func dropping() async {
    let manager = PromiseManager()
    manager.cancelWaiting()
    await manager.idle()  // the running step has ended, in its own time
    let canQuit = manager.isIdle  // nothing would be lost
    let status = manager.runningStep.map { "\($0) runs" } ?? "nothing runs"
    #expect(canQuit && status == "nothing runs")
  }
}
