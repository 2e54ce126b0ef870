/// Waits until all are fulfilled, with only so many at work at a time.
///
/// ```swift
/// let pages = when(urls.lazy.map { url in fetch(url) }, concurrently: 4)
/// ```
///
/// - Parameters:
///   - promises: Where promises are pulled from, one at a time, when there is room for another; cold
///     ones are started then. Pulling begins when the new promise is demanded.
///   - limit: How many may be unsettled at a time; at least 1.
///   - file: Where the promise is made, for diagnostics.
///   - line: Where the promise is made, for diagnostics.
/// - Returns: A cold promise of all values, in the order of pulling. When one fails, it fails with a
///   ``WhenFailure`` that has its index, and no more are pulled. Its progress is the part that is
///   fulfilled, if the sequence says how long it is.
public func when<Promises: Sequence, Value: Sendable>(
  _ promises: sending Promises, concurrently limit: Int,
  file: StaticString = #fileID, line: UInt = #line
) -> Promise<[Value]> where Promises.Element == Promise<Value> {
  precondition(limit > 0, "at least 1 promise has to be at work at a time")
  let source = PromiseSource(promises)
  return Promise(cold: Origin("when(concurrently:)", file, line)) { deferred in
    let pull = Pull(source, limit: limit, into: deferred)
    deferred.onCancel { pull.stop(cancelling: true) }
    pull.more()
  }
}

/// A sequence that was handed over for good.
private final class PromiseSource<Value: Sendable>: @unchecked Sendable {
  // Sendable because nobody else has the sequence, and one attempt at a time pulls from it.

  /// Begins at the beginning.
  let makeIterator: () -> () -> Promise<Value>?

  /// How many there are at least.
  let underestimatedCount: Int

  init<Promises: Sequence>(_ promises: sending Promises)
  where Promises.Element == Promise<Value> {
    underestimatedCount = promises.underestimatedCount
    makeIterator = {
      var iterator = promises.makeIterator()
      return { iterator.next() }
    }
  }
}

/// Pulls promises from a sequence, a few at a time.
private final class Pull<Value: Sendable>: @unchecked Sendable {
  // Sendable because `next` is called only by the one who has claimed to pull, and `state` is
  // behind a lock.
  private let next: () -> Promise<Value>?
  private let expected: Int
  private let deferred: Deferred<[Value]>
  private let state: Locked<PullState<Value>>

  init(_ source: PromiseSource<Value>, limit: Int, into deferred: Deferred<[Value]>) {
    next = source.makeIterator()
    expected = source.underestimatedCount
    self.deferred = deferred
    state = Locked(PullState(limit: limit))
  }

  /// Pulls while there is room; on one thread at a time, and without recursion.
  func more() {
    guard state.withLock({ $0.claim() }) else { return }
    while state.withLock({ $0.hasRoom() }) {
      // The sequence is somebody's code: not under the lock.
      guard let promise = next() else {
        state.withLock { $0.isExhausted = true }
        continue
      }
      begin(promise)
    }
    if let values = state.withLock({ $0.takeValues() }) { deferred.tryFulfil(values) }
  }

  private func begin(_ promise: Promise<Value>) {
    let reaction = state.withLock { state in
      let reaction = Pulled(self, state.values.count)
      state.begin(promise, reaction)
      return reaction
    }
    promise.core.attach(reaction)
    // Stopped while the sequence made the promise, or before it was attached: it never begins.
    if state.withLock({ $0.stopped == nil }) { promise.core.demand(in: deferred.scopes) }
    // Whoever stopped could take back only what was attached, and cancel only what had begun.
    guard let stopped = state.withLock({ $0.stopped }) else { return }
    _ = promise.core.withdraw(reaction, cancelling: false)
    promise.core.disown(cancelling: stopped.cancelling)
  }

  /// Pulls no more, and waits for none of those at work.
  func stop(cancelling: Bool) {
    for (promise, reaction) in state.withLock({ $0.stop(cancelling: cancelling) }) {
      _ = promise.core.withdraw(reaction, cancelling: cancelling)
    }
  }

  private func settled(_ index: Int, _ result: Result<Value, any Error>) {
    switch result {
    case .success(let value):
      let done = state.withLock { $0.fulfilled(index, value) }
      if done < expected { deferred.rise(to: Double(done) / Double(expected)) }
      more()
    case .failure(let error):
      deferred.tryFail(WhenFailure(position: index, underlying: error))
      stop(cancelling: false)
    }
  }

  /// Waits at one of the promises.
  private final class Pulled: Reaction, @unchecked Sendable {
    // Sendable as its superclass is: it adds constants only.
    private let pull: Pull
    private let index: Int

    init(_ pull: Pull, _ index: Int) {
      self.pull = pull
      self.index = index
    }

    // Settling one pulls the next, which is somebody's code.
    override var isImmediate: Bool { false }

    override func react(to source: Core, _ agenda: inout Agenda) {
      pull.settled(index, Result { try source.settledValue() })
    }
  }
}

/// Decides when to pull, and knows what has come of it.
private struct PullState<Value: Sendable> {
  struct Stop {
    /// Whether those at work are called off, and not only no longer waited for.
    let cancelling: Bool
  }

  let limit: Int

  /// Whether the sequence has no more.
  var isExhausted = false

  /// What has been fulfilled, in the order of pulling.
  private(set) var values: [Value?] = []

  private var atWork: [Int: (Promise<Value>, Reaction)] = [:]
  private var isPulling = false
  private var isOver = false

  /// How it was stopped before its end.
  private(set) var stopped: Stop?

  init(limit: Int) {
    self.limit = limit
  }

  /// Whether the caller pulls now, because nobody else does.
  mutating func claim() -> Bool {
    defer { isPulling = true }
    return !isPulling
  }

  /// Whether the one who pulls is to go on; if not, its claim is gone.
  mutating func hasRoom() -> Bool {
    // At once, or the room that another one makes in between would be seen by nobody.
    isPulling = !isOver && !isExhausted && atWork.count < limit
    return isPulling
  }

  mutating func begin(_ promise: Promise<Value>, _ reaction: Reaction) {
    // Stopped while the sequence made the promise: nobody waits for it.
    if !isOver { atWork[values.count] = (promise, reaction) }
    values.append(nil)
  }

  /// - Returns: How many are fulfilled.
  mutating func fulfilled(_ index: Int, _ value: Value) -> Int {
    atWork[index] = nil
    values[index] = value
    return values.count - atWork.count
  }

  /// All values, if this was the end.
  mutating func takeValues() -> [Value]? {
    guard isExhausted, atWork.isEmpty, !isOver else { return nil }
    isOver = true
    return values.compactMap { $0 }
  }

  /// - Returns: What was at work.
  mutating func stop(cancelling: Bool) -> [(Promise<Value>, Reaction)] {
    isOver = true
    if stopped?.cancelling != true { stopped = Stop(cancelling: cancelling) }
    defer { atWork = [:] }
    return Array(atWork.values)
  }
}
