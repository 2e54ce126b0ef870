import Foundation
import Testing

/// Runs a suite in threads of its own.
///
/// For tests that mostly wait for another program. Swift runs tests in as many threads as there are
/// processors: a test that waits keeps one from all others, and a suite that runs one test at a
/// time waits for a turn before each of them.
package struct BesideTrait: SuiteTrait, TestScoping {
  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard #available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *) else {
      return try await function()
    }
    try await withTaskExecutorPreference(BesideExecutor.shared) { try await function() }
  }
}

extension SuiteTrait where Self == BesideTrait {
  package static var beside: Self { Self() }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private final class BesideExecutor: TaskExecutor {
  static let shared = BesideExecutor()

  private let queue: OperationQueue = {
    let queue = OperationQueue()
    // Most of them wait at any time. Under a sanitizer the programs that they start need the
    // processors.
    queue.maxConcurrentOperationCount = isSanitized ? 2 : 8
    return queue
  }()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedTaskExecutor()
    queue.addOperation { job.runSynchronously(on: executor) }
  }
}
