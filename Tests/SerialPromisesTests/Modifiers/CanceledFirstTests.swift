import Foundation
import TestSupport
import Testing

@testable import SerialPromises

/// Where an outcome shows that something was canceled, it has been canceled before.
struct CanceledFirstTests {
  /// The objects of a round with a time limit.
  private struct Limited: Sendable {
    let work = Promise.value((), after: .seconds(3600))
    let clock = ManualClock()
    let promise: Promise<Void>
    let seen = Log<String>()

    init(isChain: Bool) {
      promise = (isChain ? work.map { $0 }.map { $0 } : work).timeout(.seconds(1), clock: clock)
    }
  }

  // Fails if the promise with the time limit fails before it cancels its source: in 1 of 100
  // rounds.
  @Test(
    "when a time limit has passed, the work has been canceled", .shows(Promising.time),
    arguments: [false, true])
  func timeout(_ isChain: Bool) async {
    await inRounds(isLong ? 150 : 30 / ease) {
      Limited(isChain: isChain)
    } _: { round in
      round.clock.slept.block()
      round.clock.advance(by: .seconds(1))
    } _: { round in
      while case .pending = round.promise.state { sched_yield() }
      round.seen.append(text(round.work.state))
    } fault: { round in
      let isLimited = text(round.promise.state).contains("not done within")
      return isLimited && round.seen.all == ["failed CancellationError()"]
        ? nil : "\(text(round.promise.state)), the work was \(round.seen.all)"
    }
  }

  // Fails as `timeout`, also for the code that stops the work.
  @Test("the work is stopped before its promise with a time limit fails", .shows(Promising.time))
  func stopped() async {
    let (clock, work, states) = (ManualClock(), Deferred<Int>(), Log<String>())
    let limited = work.promise.timeout(.seconds(1), clock: clock)
    work.onCancel { states.append(text(limited.state)) }
    await clock.elapse(.seconds(1))
    #expect(await limited.outcome.contains("not done within"))
    #expect(states.all == ["pending"])
  }

  enum Cancellation: CaseIterable {
    case cancelRest, cancelAll, cancelWaiting, cancelEach
  }

  enum Sight: CaseIterable {
    case state, isIdle
  }

  /// The objects of a round.
  private struct Round: Sendable {
    let manager = PromiseManager(onFailure: .cancelRest, diagnostics: .silent)
    let running = Taken()
    let promises: [Promise<Int>]
    let steps: [StepHandle]
    let events: AsyncStream<StepEvent>
    let pending = Log<Int>()

    init(runs: Bool, promises count: Int) {
      events = manager.events()
      promises = (0..<count).map { _ in
        Promise<Int>(diagnostics: .silent) { resolve, _ in resolve(1) }
      }
      if runs { manager.add(running.handler) } else { manager.pause() }
      steps = promises.map { [manager] in manager.add($0) }
    }

    func cancel(_ way: Cancellation) {
      switch way {
      case .cancelRest: running.with { $0(Failed()) }
      case .cancelAll: manager.cancelAll()
      case .cancelWaiting: manager.cancelWaiting()
      case .cancelEach: for step in steps { step.cancel() }
      }
    }

    /// Waits until the steps are seen to be over.
    func wait(_ sight: Sight) {
      switch sight {
      case .state: while steps.contains(where: { text($0.state) != "cancelled" }) { sched_yield() }
      case .isIdle: while !manager.isIdle { sched_yield() }
      }
    }
  }

  // Fails if the steps are over, for their handles or the manager, in the transition that cancels
  // them, and their promises are canceled after it: in 1 of 5 to 100 rounds.
  @Test(
    "when a waiting promise's step is canceled, the promise has failed",
    .shows(Managing.cancelledPromise),
    arguments: [Cancellation.cancelRest, .cancelAll, .cancelWaiting], Sight.allCases)
  func waiting(_ way: Cancellation, _ sight: Sight) async {
    await inRounds(isLong ? 150 : 30 / ease) {
      Round(runs: way == .cancelRest, promises: 20)
    } _: { round in
      spin(upTo: 20)
      round.cancel(way)
    } _: { round in
      round.wait(sight)
      for (index, promise) in round.promises.enumerated() {
        if case .pending = promise.state { round.pending.append(index) }
      }
    } fault: { round in
      round.pending.count > 0 ? "pending: \(round.pending.all)" : nil
    }
  }

  // Fails as `waiting`: a listener wakes up while the promises are being canceled.
  @Test(
    "when a listener receives the cancellation of a waiting promise's step, the promise has failed",
    .shows(Managing.cancelledPromise), arguments: Cancellation.allCases)
  func events(_ way: Cancellation) async {
    for number in 1...20 {
      let round = Round(runs: way == .cancelRest, promises: 300)
      let first = way == .cancelRest ? 2 : 1
      let listener = Task.detached {
        for await event in round.events {
          guard case .finished(let step, .cancelled, _) = event else { continue }
          if case .pending = round.promises[step.id - first].state { round.pending.append(step.id) }
          if step.id - first == round.promises.count - 1 { return }
        }
      }
      onThread { round.cancel(way) }
      await listener.value
      #expect(round.pending.all.isEmpty, "round \(number)")
      if round.pending.count > 0 { return }
    }
  }
}
