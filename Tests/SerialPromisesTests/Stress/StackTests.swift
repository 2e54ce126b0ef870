import TestSupport
import Testing

@testable import SerialPromises

/// What needs no more stack for many steps or promises than for a few.
///
/// A case whose traversal is recursive overflows the stack, and ends the whole run.
struct StackCase: Sendable, CustomTestStringConvertible {
  let testDescription: String
  private let body: @Sendable (_ count: Int) -> Void

  init(_ description: String, _ body: @escaping @Sendable (_ count: Int) -> Void) {
    testDescription = description
    self.body = body
  }

  /// Runs the case on a thread with a stack of 512 KB.
  func run(_ count: Int) {
    onThread(stackSize: 512 * 1024) { body(count) }
  }
}

/// Many steps, a million in the long form.
struct StackTests {
  // Crashes if the traversal that the case names is recursive.
  @Test("many steps need a small stack", .shows(Managing.stack), arguments: StackCase.steps)
  func steps(_ stack: StackCase) {
    stack.run(isLong ? 1_000_000 : 100_000 / ease)
  }
}

/// Counts without a lock: the order itself must prevent concurrent counting.
private final class Counter: @unchecked Sendable {
  private(set) var value = 0

  func count() { value += 1 }

  func handle(_ then: Then) {
    count()
    then()
  }
}

extension StackCase {
  fileprivate static let steps = [
    // `then` inside a handler starts the next handler.
    StackCase("steps that call then at once") { count in
      runAll(count) { manager, counter in manager.add(counter.handle) }
    },
    // The `deinit` of a dropped `then` starts the next handler.
    StackCase("steps that drop their then") { count in
      runAll(count) { manager, counter in manager.add { _ in counter.count() } }
    },
    StackCase("steps of the main actor") { count in
      runAll(count) { manager, counter in
        manager.add { @MainActor then in counter.handle(then) }
      }
    },
    // The end of a promise's step runs the next one on its stack.
    StackCase("promises, settled at once") { count in
      runAll(count / 5) { manager, counter in
        manager.add(
          Promise<Void> { resolve, _ in
            counter.count()
            resolve(())
          })
      }
    },
    // A queue of one-step segments is run recursively.
    StackCase("steps in segments of their own") { count in
      runAll(count / 5) { manager, counter in manager.add(at: .first, counter.handle) }
    },
    // A step that was added by a handler starts inside it.
    StackCase("steps, each added by the preceding one") { count in
      let (manager, counter) = (PromiseManager(), Counter())
      @Sendable func step(_ then: Then) {
        if counter.value < count - 1 { manager.add(step) }
        counter.handle(then)
      }
      manager.add(step)
      #expect(throws: Never.self) { try manager.waitUntilIdle() }
      #expect(counter.value == count)
    },
    // Canceling, or skipping canceled steps, is recursive.
    StackCase("waiting steps that are canceled") { count in
      let counter = Counter()
      let manager = paused(count) { manager in manager.add(counter.handle) }
      manager.cancelAll()
      #expect(manager.waitingCount == 0)
      manager.add(counter.handle)
      manager.resume()
      #expect(counter.value == 1)
    },
    // The segments of a released queue release each other.
    StackCase("a paused manager that is released") { count in
      weak let order = paused(count) { manager in manager.add { then in then() } }.order
      #expect(order == nil)
    },
    StackCase("a paused manager that is released, with steps in segments of their own") { count in
      weak let order = paused(count / 5) { manager in
        manager.add(at: .first) { then in then() }
      }.order
      #expect(order == nil)
    },
    // The first handle's segment retains all later ones.
    StackCase("handles that are released after their manager") { count in
      var handles: [StepHandle] = []
      _ = paused(count / 10) { manager in handles.append(manager.add { then in then() }) }
      #expect(handles.allSatisfy { text($0.state) == "cancelled" })
      handles = []
    },
  ]

  /// A paused manager with many steps.
  private static func paused(_ count: Int, _ add: (PromiseManager) -> Void) -> PromiseManager {
    let manager = PromiseManager(diagnostics: .silent)
    manager.pause()
    for _ in 0..<count { add(manager) }
    return manager
  }

  /// Runs many steps, and checks that each ran once.
  private static func runAll(_ count: Int, _ add: (PromiseManager, Counter) -> Void) {
    let counter = Counter()
    let manager = paused(count) { add($0, counter) }
    manager.resume()
    #expect(throws: Never.self) { try manager.waitUntilIdle() }
    #expect(counter.value == count)
  }
}
