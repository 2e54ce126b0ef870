import Dispatch
import Testing

@testable import SerialPromises

/// Runs the code in the right column of "Coming from Combine".
struct CombineExamples: StandIns {
  let log = Log<String>()
  private let a = Promise.value(1)
  private let b = Promise.value(2)
  private let promise = Promise.value(3)
  private let queue = DispatchQueue(label: "combine")

  private func fetch(_ number: Int) -> Promise<Int> { .value(10 * number) }

  // Fails if a promise has another value.
  @Test("creating")
  func creating() async throws {
    let compute = { @Sendable in 7 }
    let error = Missing()
    let asked = Promise<Int> { resolve, reject in ask { resolve($0) } }
    #expect(try await asked.value == 42)
    SerialPromises.Deferred<Int>().fulfill(1)
    #expect(try await Promise.value(1).value == 1)
    #expect(await Promise<Int>.failure(error).outcome.hasPrefix("failed"))
    #expect(try await Promise.on(queue) { compute() }.value == 7)
    #expect(try await Promise { @concurrent in compute() }.value == 7)
  }

  private struct Late: Error {
    let cause: any Error
    init(_ cause: any Error) { self.cause = cause }
  }

  // Fails if the first search is not replaced, or an error is another one.
  @Test("replacing, and errors")
  func replacing() async throws {
    var search: Promise<Int>?
    for _ in 1...2 {
      search?.cancel()
      search = Promise.value((), after: .milliseconds(5)).then { fetch(1) }.start()
    }
    #expect(try await search?.value == 10)
    let promise = Promise<Int>.failure(Missing())
    let late = promise.recover { error in throw Late(error) }
    await #expect(throws: Late.self) { try await late.value }
    do { _ = try await when(a, late).value } catch {
      #expect((error as? WhenError<Int>)?.underlying is Late)
    }
    do { _ = try await Promise<Int> { throw Missing() }.retry(1).value } catch {
      #expect((error as? RetryError)?.lastError is Missing)
    }
  }

  // Fails if an operator has another outcome.
  @Test("operators")
  func operators() async throws {
    let cold = Promise<Int> { throw Missing() }
    let failed = await cold.retry(3).outcome
    #expect(failed.contains("4 attempts"))
    let work = { @Sendable (number: Int) in number + 100 }
    let results = [
      promise.map { $0 + 1 }, promise.then { fetch($0) }, promise.recover { _ in 0 },
      promise.recover { _ in fetch(1) }, promise.timeout(.seconds(30)),
      promise.delay(.milliseconds(5)), promise.tap { show($0) },
      promise.map(on: queue) { work($0) }, promise.recover(from: Missing.self) { _ in 0 },
    ]
    #expect(try await when(results).value == [4, 30, 3, 3, 3, 3, 3, 103, 3])
  }

  // Fails if a combination has another value, or a step does not run.
  @Test("combining, and the end")
  func combining() async throws {
    let manager = PromiseManager()
    let pair = try await when(a, b).value
    #expect(pair == (1, 2))
    #expect(try await when([a, b]).value == [1, 2])
    #expect(try await Promise.race([a, b]).value == 1)
    manager.add(promise)
    #expect(try await manager.serially([a, b]).value == [1, 2])
    promise.fulfilled { show($0) }.failed { show($0) }.start()
    promise.map { show($0) }.catch { show($0) }.start()
    #expect(try await promise.value == 3)
    promise.cancel()
    await promise.waitForHandlers()
    #expect(log.all.contains("3"))
  }
}
