import Dispatch
import Testing

@testable import SerialPromises

private struct NoAnswer: Error {}

private let announced = Log<String>()

// MARK: A foreign API, with callbacks

private func compress(
  _ file: String, _ done: @escaping @Sendable (String?, (any Error)?) -> Void
) {
  DispatchQueue.global().async {
    if file == "missing" { done(nil, Missing()) } else { done("compressed \(file)", nil) }
  }
}

private func upload(
  _ data: String, _ done: @escaping @Sendable (String?, (any Error)?) -> Void
) {
  DispatchQueue.global().async { done("link to \(data)", nil) }
}

private func announce(_ link: String, _ done: @escaping @Sendable ((any Error)?) -> Void) {
  announced.append(link)
  done(nil)
}

// MARK: The code of the reader

private func publish(
  _ file: String, _ done: @escaping @Sendable ((any Error)?) -> Void
) {
  compress(file) { data, error in
    guard let data else { return done(error) }
    upload(data) { link, error in
      guard let link else { return done(error) }
      announce(link) { error in
        done(error)
      }
    }
  }
}

private func compress(_ file: String) -> Promise<String> {
  Promise { resolve, reject in
    compress(file) { data, error in
      if let data { resolve(data) } else { reject(error ?? NoAnswer()) }
    }
  }
}

private func upload(_ data: String) -> Promise<String> {
  Promise { resolve, reject in
    upload(data) { link, error in
      if let link { resolve(link) } else { reject(error ?? NoAnswer()) }
    }
  }
}

private func announce(_ link: String) -> Promise<Void> {
  Promise { resolve, reject in
    announce(link) { error in
      if let error { reject(error) } else { resolve(()) }
    }
  }
}

private func publish(_ file: String) -> Promise<Void> {
  compress(file)
    .then { data in upload(data) }
    .then { link in announce(link) }
}

/// The functions of the tutorial's files, from the first to the last.
struct TutorialExamples {
  private let shown = Log<String>()
  private let all = Gate()

  private func show(_ file: String, _ error: (any Error)?) {
    shown.append(error.map { "\(file): \($0)" } ?? file)
    if shown.count == 2 { all.open() }
  }

  private func links(_ files: [String]) -> [String] { files.map { "link to compressed \($0)" } }

  // Fails if a file is not published, or an error is lost in the callbacks.
  @Test("nested callbacks: all together")
  func together() async {
    func publishAll(_ files: [String]) {
      for file in files {
        publish(file) { error in show(file, error) }
      }
    }
    publishAll(["missing", "a1"])
    await all.passed()
    #expect(shown.all.sorted() == ["a1", "missing: Missing()"])
  }

  // Fails if a file is not published in its turn.
  @Test("a manager: one file at a time")
  func manager() async {
    let manager = PromiseManager()

    func publishAll(_ files: [String]) {
      for file in files {
        manager.add { then in
          publish(file) { error in then(error) }
        }
      }
    }
    let files = ["a2", "b2", "c2"]
    publishAll(files)
    await manager.idle()
    #expect(announced.all.filter { $0.hasSuffix("2") } == links(files))
  }

  // Fails if an error is not the outcome of its step, or delays the next step.
  @Test("outcomes: how each file ended")
  func outcomes() async {
    let manager = PromiseManager()

    func publishAll(_ files: [String]) async {
      let handles = files.map { file in
        manager.add(file) { then in publish(file) { error in then(error) } }
      }
      for (file, handle) in zip(files, handles) {
        switch await handle.outcome {
        case .succeeded: show(file, nil)
        case .failed(let error): show(file, error)
        case .cancelled: show(file, CancellationError())
        }
      }
    }
    await publishAll(["missing", "a3"])
    #expect(shown.all == ["missing: Missing()", "a3"])
  }

  // Fails if a chain is not accepted as a step, or its error is reported without its index.
  @Test("promises, one at a time")
  func serially() async throws {
    let manager = PromiseManager()

    func publishAll(_ files: [String]) async throws {
      let promises = files.map { file in
        publish(file)
      }
      _ = try await manager.serially(promises).value
    }
    let files = ["a4", "b4", "c4"]
    try await publishAll(files)
    #expect(announced.all.filter { $0.hasSuffix("4") } == links(files))
    let failure = await #expect(throws: WhenError<Int>.self) {
      try await publishAll(["d4", "missing"])
    }
    #expect(failure?.position == 1)
  }

  // Fails if a chain with retries and a time limit is not accepted as a step.
  @Test("promises with retries and a time limit")
  func patience() async throws {
    let manager = PromiseManager()

    func publishAll(_ files: [String]) async throws {
      let promises = files.map { file in
        publish(file)
          .retry(2, delay: .seconds(1))
          .timeout(.seconds(600))
      }
      _ = try await manager.serially(promises).value
    }
    let files = ["a5", "b5"]
    try await publishAll(files)
    #expect(announced.all.filter { $0.hasSuffix("5") } == links(files))
  }
}
