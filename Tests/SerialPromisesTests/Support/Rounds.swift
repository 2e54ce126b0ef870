import Foundation
import TestSupport
import Testing

@testable import SerialPromises

/// Runs actions at the same time, round after round, until one round fails or all have passed.
///
/// For races: each action has a thread of its own, and all begin a round together.
///
/// - Parameters:
///   - count: The number of rounds.
///   - location: Where a fault is recorded.
///   - make: Makes the objects of a round.
///   - actions: What the threads do with them.
///   - fault: Called after all; what is wrong, or nil.
func inRounds<Round: Sendable>(
  _ count: Int, location: SourceLocation = #_sourceLocation,
  make: @escaping @Sendable () -> Round, _ actions: (@Sendable (Round) -> Void)...,
  fault: @escaping @Sendable (Round) -> String?
) async {
  let (current, found, meeting) = (Log<Round>(), Log<String>(), Meeting(of: actions.count))
  let body: @Sendable (Int) -> Void = { [actions] thread in
    for number in 1...count {
      if thread == 0 { current.append(make()) }
      meeting.wait()
      guard let round = current.last else { return }
      actions[thread](round)
      meeting.wait()
      if thread == 0 {
        if let fault = fault(round) { found.append("round \(number): \(fault)") }
        _ = current.removeAll()
      }
      meeting.wait()
      if found.count > 0 { return }
    }
  }
  await onNewThread {
    // One test at a time, because the threads need the processors.
    oneAtATime.withLock { _ in onThreads(actions.count, body) }
  }
  #expect(found.last == nil, sourceLocation: location)
}

/// Gives other threads time to get somewhere, where no event says that they have.
///
/// A round in which they have not shows nothing.
func yieldToOthers(_ times: Int = 200) {
  for _ in 0..<times { sched_yield() }
}

/// Occupies the thread for a random time, so that rounds differ in which thread is first.
func spin(upTo microseconds: Int) {
  let end = ContinuousClock.now + .nanoseconds(Int.random(in: 0..<microseconds * 1000))
  while ContinuousClock.now < end {}
}

private let oneAtATime = Locked(())

/// A place where some threads meet, any number of times.
private final class Meeting: Sendable {
  private let count: Int
  private let arrived = Atomic(0)
  private let awake = Atomic(0)
  private let condition = NSCondition()

  init(of count: Int) { self.count = count }

  func wait() {
    // Blocks, because the processors may be busy with other tests.
    condition.lock()
    let all = whole(arrived.add(1))
    if arrived.number == all { condition.broadcast() }
    while arrived.number < all { condition.wait() }
    condition.unlock()
    // They wake one after another, and are to begin together.
    let present = whole(awake.add(1))
    var spins = 0
    while awake.number < present, spins < 10_000 { spins += 1 }
  }

  /// The count at which all threads have come, for one of them.
  private func whole(_ number: Int) -> Int { (number + count - 1) / count * count }
}

/// Waits until a condition holds, for a minute and a thousand turns at most.
///
/// For conditions without an event. Yields, and returns at once where the code is right. Not a time
/// limit of the test: that also runs while the test has no thread, and all tests start at once.
/// Under a sanitizer, others keep the threads busy for minutes.
func eventually(_ holds: () -> Bool) async -> Bool {
  let end = ContinuousClock.now + .seconds(60)
  var turns = 0
  while turns < 1_000 || ContinuousClock.now < end {
    if holds() { return true }
    await Task.yield()
    turns += 1
  }
  return holds()
}
