import Dispatch
import Testing

@testable import SerialPromises

private let fetched = Log<String>()

private func fetch(_ name: String, _ completion: @Sendable ((any Error)?) -> Void) {
  fetched.append(name)
  completion(nil)
}

struct Download: Promisable {
  let name: String
  var handler: Handler {
    { then in fetch(name) { error in then(error) } }
  }
}

/// The examples in the documentation comments of steps.
struct StepExamples: StandIns {
  let log = Log<String>()

  // Fails if a handler, or a wrapped handler, is not accepted as a step.
  @Test("a handler is a step, and a step's handler can be wrapped")
  func handlers() async {
    struct Logged<Work: Promisable>: Promisable {
      let (work, log): (Work, Log<String>)
      var handler: Handler {
        let handler = work.handler
        return { then in
          log.append("begins")
          handler(then)
        }
      }
    }
    let manager = PromiseManager()
    let handler: Promisable.Handler = { then in download { then() } }
    manager.add(handler)
    manager.add(Logged(work: Step("download", handler), log: log))
    await manager.idle()
    #expect(log.all == ["download", "begins", "download"])
  }

  // Fails if a custom type, a named step, or one that passes an error on is not accepted as a step.
  @Test("any type can be a step, and one that is created from a closure can have a name")
  func kinds() async throws {
    let (manager, file) = (PromiseManager(), "file")
    let handle = manager.add(Download(name: "a"))
    manager.add(Step("upload") { then in upload { error in then(error) } })
    manager.add { then in upload(file) { error in then(error) } }
    try await handle.outcome.get()
    await manager.idle()
    #expect(fetched.all.contains("a") && log.all == ["upload", "upload file"])
  }

  // Fails if a step loses its name or its work.
  @Test("a step has a name, a handler and an identity")
  func names() async throws {
    let manager = PromiseManager()
    let events = manager.events()
    let step = Step("upload") { then in upload(file) { then($0) } }
    let shown = step.name ?? "a step"  // upload
    let again = Step("upload again", step.handler)
    manager.add(step)
    manager.add(again)
    await manager.idle()
    #expect(shown == "upload")
    #expect(log.all == ["upload photo", "upload photo"])
    var titles: [String] = []
    func title(of step: StepIdentity) -> String {
      step.name ?? "No. \(step.id)"
    }
    for await event in events {
      if case .started(let step) = event { titles.append(title(of: step)) }
      if titles.count == 2 { break }
    }
    #expect(titles == ["upload", "upload again"])
  }

  // MARK: Then

  // Fails if an error is not that of the step, or a call without an error fails it.
  @Test("then, with an error or without")
  func calling() async throws {
    let manager = PromiseManager()
    let handle = manager.add { then in
      upload(file) { error in
        if let error { then(error) } else { then() }
      }
    }
    try await handle.outcome.get()
  }

  // Fails if a running step is not notified of its cancellation.
  @Test("a step that is asked to stop")
  func stopping() async {
    let manager = PromiseManager()
    let handle = manager.add { then in
      let transfer = Transfer(file) { error in then(error) }
      then.onCancel { transfer.stop() }
    }
    handle.cancel()
    #expect(await text(handle.outcome) == "cancelled")
  }

  // Fails if a step that is not canceled reads that it is, or a listener does not receive the
  // progress.
  @Test("a step that checks for cancellation, and steps that report their progress")
  func looking() async throws {
    let manager = PromiseManager()
    let urls = urls
    manager.add { then in
      for url in urls where !then.isCancelled { show(url) }
      then(then.isCancelled ? CancellationError() : nil)
    }
    manager.add { then in
      for (index, url) in urls.enumerated() {
        show(url)
        then.progress(Double(index + 1) / Double(urls.count))
      }
      then()
    }
    await manager.idle()
    #expect(log.removeAll() == ["a", "b", "a", "b"])
    @Sendable func send(
      _ file: String, progress: (Double) -> Void, end: (Result<String, any Error>) -> Void
    ) {
      progress(0.5)
      end(.success("sent \(file)"))
    }
    let sent = Promise<String> { deferred in
      send(file, progress: { deferred.progress($0) }) { result in
        deferred.settle(with: result)
      }
    }
    sent.progressed { fraction in show("\(Int(fraction * 100)) %") }
    manager.add(sent)
    #expect(try await sent.value == "sent photo")
    await sent.waitForHandlers()
    #expect(log.all.last == "100 %")
  }

  // MARK: Handles

  // Fails if a handle does not have its step, or its outcome.
  @Test("a handle has its step and the outcome")
  func handles() async throws {
    let manager = PromiseManager()
    manager.pause()
    let handle = manager.add("upload") { then in upload(file) { then($0) } }
    handle.cancel()  // while it waits: `upload` is never called
    #expect(await text(handle.outcome) == "cancelled")
    manager.resume()
    do {
      let handle = manager.add("upload") { then in upload(file) { then($0) } }
      let title = "\(handle.id): \(handle.name ?? "step")"  // 2: upload
      #expect(title == "2: upload")
      await manager.idle()
    }
    do {
      let handle = manager.add("upload") { then in upload(file) { then($0) } }
      let percent = Int(handle.progress * 100)
      #expect(percent == 100)
      try await handle.outcome.get()
      switch await handle.outcome {
      case .succeeded: show("done")
      case .failed(let error): show("failed: \(error)")
      case .cancelled: show("cancelled")
      }
      switch handle.state {
      case .waiting: show("waiting")
      case .running: show("running")
      case .over(let outcome): show("over: \(outcome)")
      }
    }
    #expect(log.all == ["upload photo", "upload photo", "done", "over: succeeded"])
  }

  // Fails if a waiting step runs after its cancellation.
  @Test("a step that does not end by itself is ended after a grace period")
  func grace() async {
    let manager = PromiseManager()
    manager.pause()
    let handle = manager.add { then in upload(file) { error in then(error) } }
    // Waits at most this long for its `then`.
    handle.cancel(grace: .seconds(5))
    manager.resume()
    #expect(await text(handle.outcome) == "cancelled")
  }

  // MARK: Time

  // Fails if a step with a time limit does not run, or a promise is not retried as a step.
  @Test("steps with a time limit, and promises with a delay or retries as steps")
  func time() async {
    let manager = PromiseManager()
    let download = Step("download") { then in self.download { then() } }
    let handle = manager.add(download.timeout(.seconds(30)))
    // After 30 seconds.
    if case .failed(let error) = await handle.outcome { show(error) }
    let upload = Promise<Void> { deferred in
      self.upload("missing") { error in
        if let error { deferred.fail(error) } else { deferred.fulfill(()) }
      }
    }
    manager.add(upload.retry(2, delay: .milliseconds(1), backoff: .exponential))
    await manager.idle()
    #expect(log.all == ["download"] + Array(repeating: "upload missing", count: 3))
  }

  // MARK: Progress of asynchronous work

  private func upload(_ part: String) async throws {}

  private func send(
    _ file: String, progress: @escaping @Sendable (Double) -> Void
  ) async throws {
    await elsewhere { progress(0.5) }
  }

  // Fails if a report does not reach the promise of the step.
  @Test("work that reports its progress")
  func enqueued() async throws {
    let (manager, parts) = (PromiseManager(), ["a", "b"])
    manager.pause()
    let uploaded = manager.enqueue("upload") {
      for (index, part) in parts.enumerated() {
        try await upload(part)
        reportProgress(Double(index + 1) / Double(parts.count))
      }
    }
    uploaded.progressed { fraction in show("\(Int(fraction * 100)) %") }
    manager.resume()
    await uploaded.waitForHandlers()
    #expect(log.all == ["50 %", "100 %"])
  }

  // Fails if a callback on another thread does not report for the work.
  @Test("a callback that reports the progress of the work")
  func callback() async throws {
    let (manager, seen) = (PromiseManager(), Log<Double>())
    try await manager.run("send") {
      let work = AsyncWork.current
      try await send(file, progress: { work?.progress($0) })
    }
    try await manager.run {
      let work = AsyncWork.current
      try await send(file, progress: { work?.progress($0) })
      seen.append(manager.progress)
    }
    #expect(seen.all == [0.5])
  }
}

/// Calls a closure on another thread, and waits for its end.
private func elsewhere(_ body: @escaping @Sendable () -> Void) async {
  let gate = Gate()
  DispatchQueue.global().async {
    body()
    gate.open()
  }
  await gate.passed()
}
