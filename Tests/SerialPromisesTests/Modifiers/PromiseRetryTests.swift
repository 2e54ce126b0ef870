import TestSupport
import Testing

@testable import SerialPromises

/// Promises that are retried.
struct PromiseRetryTests {
  private let clock = ManualClock()

  /// Fails until the attempt with this number.
  private func failing(until success: Int, _ log: Log<Int>) -> Promise<Int> {
    Promise {
      log.append(log.count + 1)
      if log.count < success { throw Failed(number: log.count) }
      return log.count
    }
  }

  // Fails if only the last link is retried, a failing link does not cause a retry, or the task
  // begins without a demand.
  @Test("a retry restarts a whole cold chain from its task", .shows(Promising.retry))
  func chain() async {
    let (log, links) = (Log<Int>(), Log<Int>())
    let page = failing(until: 3, log).map { value in
      links.append(value)
      if links.count < 3 { throw Failed() }
      return value * 2
    }.then { value in Promise { value + 1 } }.retry(5)
    #expect(log.all.isEmpty)
    #expect(await page.outcome == "11")
    #expect(log.count == 5 && links.all == [3, 4, 5])
  }

  // Fails if there are too many attempts, the error is not the last one, a cancellation is retried,
  // combined cold promises do not restart, a hot one among them prevents it, or a time limit or an
  // asynchronous link is lost in a later attempt.
  @Test(
    "a retry ends with the first value, the last error and the number of attempts, or a cancellation",
    .shows(Promising.retry))
  func outcomes() async {
    let logs = (0..<4).map { _ in Log<Int>() }
    let canceled = Promise<Int> {
      logs[1].append(1)
      throw CancellationError()
    }
    let several = when([failing(until: 3, logs[2]), .value(10)])
    let links = failing(until: 2, logs[3])
      .map(on: .global()) { $0 + 1 }
      .map { value in
        await Task.yield()
        return value + 1
      }
      .timeout(.seconds(60), clock: clock)
    await expectOutcomes([
      "failed failed in 3 attempts: Failed(number: 3)": failing(until: .max, logs[0]).retry(2),
      "failed CancellationError()": canceled.retry(5),
      "13": several.retry(5).map { $0.reduce(0, +) },
      "4": links.retry(1),
    ])
    #expect(logs.map(\.count) == [3, 1, 3, 2])
  }

  // Fails if the pause is skipped, or cancellation does not end it.
  @Test("a retry waits between attempts, and cancellation ends the wait")
  func pause() async {
    let log = Log<Int>()
    let page = failing(until: 2, log).retry(3, delay: .seconds(5), clock: clock).start()
    await clock.waitForSleeper()
    #expect(log.count == 1)
    clock.advance(by: .seconds(5))
    #expect(await page.outcome == "2")

    let cancelled = failing(until: .max, Log()).retry(3, delay: .seconds(5), clock: clock)
    cancelled.start()
    await clock.waitForSleeper()
    #expect(cancelled.cancel())
    #expect(await cancelled.outcome == "failed CancellationError()")
    while clock.sleepers > 0 { await Task.yield() }
  }

  // Fails if a promise that cannot restart is reported as retried.
  @Test(
    "a promise whose work has begun is attempted once, which is reported", .shows(Promising.retry))
  func hot() async {
    let reports = Reports()
    let deferred = Deferred<Int>("hot", diagnostics: reports.place)
    let page = deferred.promise.retry(5)
    deferred.fail(Failed())
    #expect(await page.outcome == "failed failed in 1 attempt: Failed(number: 0)")
    #expect(reports.all == [.cannotRetry(deferred.promise.core.origin.identity)])
  }

  // Fails if the condition or the growth of the delay is ignored.
  @Test("a retry waits as its backoff says, and not after an error that it does not accept")
  func policy() {
    func pauses(_ backoff: Backoff) -> [Duration?] {
      let policy = RetryPolicy(retries: 3, delay: .seconds(1), backoff: backoff) { $0 is Failed }
      #expect(policy.pause(after: 1, PromiseError.closed) == nil)
      #expect(policy.pause(after: 1, CancellationError()) == nil)
      return (1...4).map { policy.pause(after: $0, Failed()) }
    }
    #expect(pauses(.constant) == [.seconds(1), .seconds(1), .seconds(1), nil])
    #expect(pauses(.linear) == [.seconds(1), .seconds(2), .seconds(3), nil])
    #expect(pauses(.exponential) == [.seconds(1), .seconds(2), .seconds(4), nil])
  }
}
