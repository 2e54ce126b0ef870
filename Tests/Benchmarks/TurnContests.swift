import Dispatch
import Foundation
import SerialPromises

/// All contests of turns: code that stays in the caller's task.
func turnContests(_ n: Int) -> [Contest] {
  [
    alone("in a task", n) { way, n, tally in waiting { await way.take(n, tally, Start(0)) } },
    alone("on the main actor", n, onMainActor),
    eightTasks(n), lookingUp(n),
  ]
}

/// The least that gives turns: a lock, a flag and a queue of continuations.
private final class FloorOfTurns: Sendable {
  private struct State {
    var isTaken = false
    var waiting: [UnsafeContinuation<Void, Never>] = []
    var head = 0
  }
  private let state = Locked(State())

  nonisolated(nonsending) func withTurn<Value>(
    _ body: nonisolated(nonsending) () async -> Value
  ) async -> Value {
    let isFree = state.withLock { state in
      defer { state.isTaken = true }
      return !state.isTaken
    }
    if !isFree {
      await withUnsafeContinuation { continuation in
        let isFree = state.withLock { state in
          if state.isTaken { state.waiting.append(continuation) }
          defer { state.isTaken = true }
          return !state.isTaken
        }
        if isFree { continuation.resume() }
      }
    }
    let value = await body()
    let next = state.withLock { state -> UnsafeContinuation<Void, Never>? in
      if state.head == state.waiting.count {
        state.waiting.removeAll(keepingCapacity: true)
        (state.head, state.isTaken) = (0, false)
        return nil
      }
      state.head += 1
      return state.waiting[state.head - 1]
    }
    next?.resume()
    return value
  }
}

/// One way to take N turns, each of which counts.
private struct Way: Sendable {
  let name: String
  /// The first turn ends when all tasks have begun: otherwise one takes all of its turns before the
  /// next one begins.
  let take: nonisolated(nonsending) @Sendable (Int, Tally, Start) async -> Void

  /// A new queue for each measurement.
  static var all: [Way] {
    let (floor, turns, runs) = (FloorOfTurns(), PromiseManager(), PromiseManager())
    return [
      Way(name: "floor") { n, tally, start in
        await floor.withTurn { await start.all() }
        for number in 0..<n { await floor.withTurn { tally.add(number) } }
      },
      Way(name: "withTurn") { n, tally, start in
        try? await turns.withTurn { await start.all() }
        for number in 0..<n { try? await turns.withTurn { tally.add(number) } }
      },
      Way(name: "run") { n, tally, start in
        try? await runs.run { await start.all() }
        for number in 0..<n { try? await runs.run { tally.add(number) } }
      },
    ]
  }
}

/// Waits until a number of tasks have begun.
private final class Start: Sendable {
  private let missing: Locked<Int>

  init(_ count: Int) { missing = Locked(count) }

  func begin() { missing.withLock { $0 -= 1 } }

  nonisolated(nonsending) func all() async {
    while missing.withLock({ $0 }) > 0 { await Task.yield() }
  }
}

/// Takes the turns on the main actor, whose queue the calling thread runs, the main one.
private func onMainActor(_ way: Way, _ n: Int, _ tally: Tally) {
  let isDone = Locked(false)
  Task { @MainActor in
    await way.take(n, tally, Start(0))
    isDone.withLock { $0 = true }
  }
  while !isDone.withLock({ $0 }) {
    _ = RunLoop.main.run(mode: .default, before: .distantFuture)
  }
}

private func alone(
  _ place: String, _ n: Int, _ takeAll: @escaping (Way, Int, Tally) -> Void
) -> Contest {
  Contest(
    title: "\(n) turns, one after another \(place)", unit: "turn",
    subjects: Way.all.map { way in
      Subject(name: way.name) {
        let tally = Tally()
        return nanoseconds {
          takeAll(way, n, tally)
          precondition(tally.count == n)
        } / Double(n)
      }
    }, against: "run", targets: [.of("withTurn", atMost: 5, times: "floor")]
  ).isolated
}

private func eightTasks(_ n: Int) -> Contest {
  Contest(
    title: "\(n) turns of eight tasks", unit: "turn",
    subjects: Way.all.map { way in
      Subject(name: way.name) {
        let tally = Tally()
        return nanoseconds {
          let start = Start(8)
          waiting {
            await withTaskGroup(of: Void.self) { tasks in
              for _ in 0..<8 {
                tasks.addTask {
                  start.begin()
                  await way.take(n / 8, tally, start)
                }
              }
            }
          }
          precondition(tally.count == n / 8 * 8)
        } / Double(n)
      }
    }, against: "run", targets: [.of("withTurn", atMost: 2, times: "floor")]
  ).isolated
}

/// Looks up the managers of 1,000 keys.
private func lookingUp(_ n: Int) -> Contest {
  let keys = 1_000
  let managers = (0..<keys).map { _ in PromiseManager() }
  let dictionary = Locked(Dictionary(uniqueKeysWithValues: zip(0..., managers)))
  let keyed = KeyedPromiseManagers<Int> { managers[$0] }
  return Contest(
    title: "look up \(n) keys of \(keys)", unit: "key",
    subjects: [
      Subject(name: "a locked dictionary") {
        nanoseconds {
          for number in 0..<n { _ = dictionary.withLock { $0[number % keys] } }
        } / Double(n)
      },
      Subject(name: "KeyedPromiseManagers") {
        nanoseconds { for number in 0..<n { _ = keyed[number % keys] } } / Double(n)
      },
    ], against: "a locked dictionary",
    targets: [.of("KeyedPromiseManagers", atMost: 3, times: "a locked dictionary")]
  ).isolated
}
