import TestSupport
import Testing

@testable import SerialPromises

/// The lifetime of a manager and of its steps.
struct LifeTests {
  // Fails if a running queue does not retain its manager, or retains it forever.
  @Test("a manager lives as long as it has steps to run", .shows(Managing.life))
  func keptAlive() {
    let (taken, log) = (Taken(), Log<String>())
    weak var manager: PromiseManager?
    let second = {
      let made = PromiseManager()
      manager = made
      made.add(taken.handler)
      return made.add(log.appending("second"))
    }()
    #expect(manager != nil)
    taken.call()
    #expect(log.all == ["second"])
    #expect(manager == nil)
    #expect(text(second.state) == "succeeded")
  }

  /// A use of a manager, by closures that capture an object.
  struct Use: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var capacity: Int?
    let body: @Sendable (PromiseManager, Sentinel) async throws -> Void

    static let all = [
      Use(testDescription: "steps, work and room", capacity: 200) { manager, sentinel in
        let taken = Taken()
        manager.add { then in
          sentinel.touch()
          then.onCancel { sentinel.touch() }
          taken.handler(then)
        }
        for _ in 1...150 { manager.add { then in then(sentinel.asError) } }
        taken.call()
        taken.drop()
        _ = try await manager.run { sentinel }
        try await manager.addWhenRoom { then in
          sentinel.touch()
          then()
        }
        await manager.idle()
      },
      Use(testDescription: "placed and moved steps") { place($0, $1).resumeAndWait() },
      Use(testDescription: "placed and moved steps that never run") { _ = place($0, $1) },
      Use(testDescription: "enqueued work") { manager, sentinel in
        try await manager.enqueue { sentinel.touch() }.value
        await manager.idle()
      },
      Use(testDescription: "enqueued work that is canceled") { manager, sentinel in
        manager.pause()
        let promise = manager.enqueue { sentinel.touch() }
        promise.cancel()
        _ = await promise.outcome
      },
      // The position of the first step that waits for room retains its segment.
      Use(testDescription: "a canceled wait for room", capacity: 1) { manager, sentinel in
        let taken = manager.hold()
        manager.add { then in then() }
        let adder = Task {
          try await manager.addWhenRoom { then in
            sentinel.touch()
            then()
          }
        }
        await manager.waiting(2)
        adder.cancel()
        _ = await adder.result
        taken.call()
      },
    ]

    /// Adds steps at every kind of place to a paused manager, and moves them.
    @discardableResult
    private static func place(_ manager: PromiseManager, _ sentinel: Sentinel) -> PromiseManager {
      manager.pause()
      var handles: [StepHandle] = []
      for number in 0..<300 {
        let place: StepPlace =
          number % 3 == 0 ? .first : handles.last.map { .before($0) } ?? .last
        handles.append(
          manager.add("\(number)", at: place) { then in
            sentinel.touch()
            then()
          })
      }
      for (index, handle) in handles.enumerated() where index % 2 == 0 {
        handle.move(to: index % 4 == 0 ? .last : .before(handles[index / 2]))
      }
      return manager
    }
  }

  // Fails, or hangs, if any reference is left: from the lock to its segments, from a segment to a
  // handler, a moved step or an adder, from a continuation to its step, or from a promise to its
  // step and back.
  @Test(
    "a manager that is no longer used leaks nothing", .shows(Managing.life), arguments: Use.all)
  func nothingLeft(_ use: Use) async throws {
    let (manager, order, captured) = try await {
      let (manager, sentinel) = (
        PromiseManager(capacity: use.capacity, diagnostics: .silent), Sentinel()
      )
      try await use.body(manager, sentinel)
      return (Watched(manager), Watched(manager.order), Watched(sentinel))
    }()
    // The thread that granted the last turn may be about to release the manager.
    while !order.isGone || !captured.isGone { await Task.yield() }
    #expect(manager.isGone)
  }

  private actor Counter {
    private(set) var count = 0

    func step(in manager: PromiseManager) {
      manager.add { then in
        self.count += 1
        then()
      }
    }
  }

  // Hangs if the manager keeps the actor of a step that has ended.
  @Test("an actor is released with the last handle of its steps")
  func actor() async {
    let manager = PromiseManager()
    let actor = await {
      let counter = Counter()
      for _ in 1...3 { await counter.step(in: manager) }
      await manager.idle()
      #expect(await counter.count == 3)
      return Watched(counter)
    }()
    while !actor.isGone { await Task.yield() }
  }
}

extension Sentinel {
  struct AsError: Error { let sentinel: Sentinel }

  /// An error that retains the sentinel.
  var asError: any Error { AsError(sentinel: self) }
}
