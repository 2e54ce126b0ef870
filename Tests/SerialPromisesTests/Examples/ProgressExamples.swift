import Dispatch
import Testing

@testable import SerialPromises

/// The examples of progress that asynchronous work reports.
struct ProgressExamples: StandIns {
  let log = Log<String>()

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
