import TestSupport
import Testing

@testable import SerialPromises

/// Many steps, a million in the long form, on a thread with a 512 KB stack.
///
/// Each test crashes if its traversal of the steps is recursive.
@Suite(.allShow(Managing.stack)) struct StackTests {
  private static let count = isLong ? 1_000_000 : 100_000 / ease
  private static let smallStack = 512 * 1024

  /// Counts without a lock: the order itself must prevent concurrent counting.
  private final class Counter: @unchecked Sendable { var value = 0 }

  // Crashes if `then` inside a handler starts the next handler, or a dropped one does from its
  // `deinit`.
  @Test("many steps that call then at once, or drop it", arguments: [true, false])
  func synchronous(callsThen: Bool) {
    onThread(stackSize: Self.smallStack) {
      let (manager, counter) = (PromiseManager(diagnostics: .silent), Counter())
      manager.pause()
      for _ in 0..<Self.count {
        manager.add { then in
          counter.value += 1
          if callsThen { then() }
        }
      }
      manager.resume()
      #expect(throws: Never.self) { try manager.waitUntilIdle() }
      #expect(counter.value == Self.count)
    }
  }

  // Crashes if a step that was added by a handler starts inside it.
  @Test("many steps, each added by the preceding one")
  func chained() async {
    let (manager, counter) = (PromiseManager(), Counter())
    @Sendable func step(_ then: Then) {
      counter.value += 1
      if counter.value < Self.count { manager.add(step) }
      then()
    }
    onThread(stackSize: Self.smallStack) { manager.add(step) }
    await manager.idle()
    #expect(counter.value == Self.count)
  }

  // Crashes if canceling, or skipping canceled steps, is recursive.
  @Test("canceling many waiting steps")
  func canceling() {
    onThread(stackSize: Self.smallStack) {
      let (manager, counter) = (PromiseManager(), Counter())
      manager.pause()
      for _ in 0..<Self.count {
        manager.add { then in
          counter.value += 1
          then()
        }
      }
      manager.cancelAll()
      #expect(manager.waitingCount == 0)
      manager.add { then in
        counter.value += 1
        then()
      }
      manager.resume()
      #expect(counter.value == 1)
    }
  }

  // Crashes if the segments of a released queue release each other.
  @Test("dropping a paused manager in which many steps wait")
  func dropping() {
    onThread(stackSize: Self.smallStack) {
      weak var order: Locked<SerialOrder>?
      do {
        let manager = PromiseManager()
        order = manager.order
        manager.pause()
        for _ in 0..<Self.count { manager.add { then in then() } }
      }
      #expect(order == nil)
    }
  }

  // Crashes if the first handle's segment retains all later ones.
  @Test("dropping the handles of many steps after their manager")
  func handles() {
    onThread(stackSize: Self.smallStack) {
      var handles: [StepHandle] = []
      do {
        let manager = PromiseManager()
        manager.pause()
        for _ in 0..<Self.count / 10 { handles.append(manager.add { then in then() }) }
      }
      #expect(handles.allSatisfy { text($0.state) == "cancelled" })
      handles = []
    }
  }
}
