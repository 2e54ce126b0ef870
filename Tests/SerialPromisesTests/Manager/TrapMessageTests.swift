import Foundation
import TestSupport
import Testing

@testable import SerialPromises

/// What a process that uses the library wrongly prints before it ends.
///
/// Only a release build loses the message of a `precondition`; each test passes in debug builds of
/// any version, except the last.
struct TrapMessageTests {
  enum Mistake: Int, CaseIterable {
    case limit, resolvedLimit, starts, capacity, fewerWaiting

    var message: String {
      switch self {
      case .limit, .resolvedLimit, .fewerWaiting: "limit is at least 1"
      case .starts: "rate has at least 1 start"
      case .capacity: "capacity is at least 1"
      }
    }
  }

  // Fails in release if the check is a `precondition`, whose message is dropped there.
  @Test("a number below 1 traps with the reason, in every build", arguments: Mistake.allCases)
  func belowOne(_ mistake: Mistake) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      [number = mistake.rawValue as Int] in
      endWithoutBacktrace()
      let promises = [Promise.value(1)]
      switch Mistake(rawValue: number) {
      case .limit: _ = when(promises, concurrently: 0, isolation: nil)
      case .resolvedLimit: _ = when(resolved: promises, concurrently: 0, isolation: nil)
      case .starts: _ = Rate(0, per: .seconds(1))
      case .capacity: _ = PromiseManager(capacity: 0)
      default: await PromiseManager().fewerWaiting(than: 0)
      }
    }
    #expect(message(result).contains(mistake.message))
  }

  // Times out, and so exits with success, if the thread waits for handlers that only it could run.
  // Also for a waiting step, for work, and for the work of a promise, of the main actor.
  @Test(
    "waitUntilIdle on the main thread, for what has to run there, traps with the reason",
    .shows(Promising.wait), arguments: 0..<4)
  func mainThread(_ way: Int) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      [way] in
      endWithoutBacktrace()
      onOwnThread {
        Promise.value(0, after: .seconds(5)).fulfilled { _ in exit(EXIT_SUCCESS) }
      }
      await MainActor.run {
        let manager = PromiseManager(on: way == 0 ? .main : nil)
        if way == 1 {
          manager.add { then in
            Promise.value((), after: .seconds(3600)).fulfilled { @Elsewhere in then() }
          }
        }
        switch way {
        case 0, 1: manager.add { then in then() }
        case 2: manager.enqueue { 1 }
        default: manager.add(Promise { () async in 1 }.retry(1))
        }
        try? manager.waitUntilIdle()
      }
    }
    #expect(message(result).contains("main thread"))
  }
}
