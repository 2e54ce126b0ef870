import TestSupport
import Testing

@testable import SerialPromises

/// A promise that is a step of two managers, and is added to the second one while it runs steps.
struct SharedPromiseTests {
  /// The objects of a round.
  private struct Round: Sendable {
    let paused = PromiseManager(diagnostics: .silent)
    let busy = PromiseManager(diagnostics: .silent)
    let running = Taken()
    let promise: Promise<Int>
    let isAdded = Gate()

    init(isChain: Bool) {
      let source = Promise<Int> { resolve, _ in resolve(1) }
      promise = isChain ? source.map { $0 } : source
      paused.pause()
      paused.add(promise)
      busy.add(running.handler)
    }
  }

  // Fails if a promise is reserved for its turn after its step has entered the queue: the thread
  // that runs the steps can then start it before, and finds only the turn of the paused manager.
  // Seen in 1 of 20 to 10,000 rounds of a debug build.
  @Test(
    "a promise starts in the earlier of its turns, also if that begins while the promise is added",
    .shows(Managing.turns), arguments: [false, true])
  func earlierTurn(_ isChain: Bool) async {
    await inRounds(isLong ? 15_000 : 500 / ease) {
      Round(isChain: isChain)
    } _: { round in
      // A random time, so that rounds differ in which thread is first.
      for _ in 0..<Int.random(in: 0..<100) where round.isAdded.isOpen {}
      round.running.with { $0() }
    } _: { round in
      round.busy.add(round.promise, at: .first)
      round.isAdded.open()
    } _: { round in
      // Its use of the promise's lock makes the adding thread slower.
      while !round.isAdded.isOpen { _ = round.promise.progress }
    } fault: { round in
      do { try round.busy.waitUntilIdle(timeout: .seconds(60)) } catch {
        return "\(round.busy.runningStep.map { "\($0)" } ?? "no step") runs, \(error)"
      }
      // Ends at once, because the promise is settled.
      round.paused.resume()
      do { try round.paused.waitUntilIdle(timeout: .seconds(60)) } catch { return "\(error)" }
      if case .fulfilled = round.promise.state { return nil }
      return "the promise is \(text(round.promise.state))"
    }
  }
}
