import Dispatch

/// Waits until all are fulfilled, with only so many at work at a time.
///
/// ```swift
/// let pages = when(urls.lazy.map { url in fetch(url) }, concurrently: 4)
/// ```
///
/// The sequence is pulled where the caller is isolated: in a `@MainActor` function, and at the top
/// level of `main.swift`, on the main actor. So its closures may use what the caller may use. Without
/// an isolation it is pulled on the thread that demands the new promise, or on a global queue. It is
/// never used by two threads at the same time.
///
/// - Parameters:
///   - promises: Where promises are pulled from, one at a time, when there is room for another; cold
///     ones are started then. Pulling begins when the new promise is demanded.
///   - limit: How many may be unsettled at a time; at least 1.
///   - isolation: The actor on which the sequence is pulled: the caller's. Pass `nil`, and a
///     `@Sendable` closure, to pull on any thread: where ``Promise/wait(timeout:)`` blocks the main
///     thread, nothing can be pulled there.
///   - file: Where the promise is made, for diagnostics.
///   - line: Where the promise is made, for diagnostics.
/// - Returns: A cold promise of all values, in the order of pulling. When one fails, it fails with a
///   ``WhenError`` that has its index, and no more are pulled. Its progress is the part that is
///   fulfilled, if the sequence says how long it is.
public func when<Promises: Sequence, Value: Sendable>(
  _ promises: sending Promises, concurrently limit: Int,
  isolation: isolated (any Actor)? = #isolation,
  file: StaticString = #fileID, line: UInt = #line
) -> Promise<[Value]> where Promises.Element == Promise<Value> {
  pull(promises, limit, isolation, Origin("when(concurrently:)", file, line)) { try $0.get() }
}

/// Waits until all are settled, with only so many at work at a time, and never fails.
///
/// ```swift
/// let outcomes = when(resolved: urls.lazy.map { url in fetch(url) }, concurrently: 4)
/// ```
///
/// The sequence is pulled as by ``when(_:concurrently:isolation:file:line:)``.
///
/// - Parameters:
///   - promises: Where promises are pulled from, one at a time, when there is room for another; cold
///     ones are started then. Pulling begins when the new promise is demanded.
///   - limit: How many may be unsettled at a time; at least 1.
///   - isolation: The actor on which the sequence is pulled: the caller's. Pass `nil`, and a
///     `@Sendable` closure, to pull on any thread.
///   - file: Where the promise is made, for diagnostics.
///   - line: Where the promise is made, for diagnostics.
/// - Returns: A cold promise of all outcomes, in the order of pulling. Its progress is the part that is
///   settled, if the sequence says how long it is.
public func when<Promises: Sequence, Value: Sendable>(
  resolved promises: sending Promises, concurrently limit: Int,
  isolation: isolated (any Actor)? = #isolation,
  file: StaticString = #fileID, line: UInt = #line
) -> Promise<[Result<Value, any Error>]> where Promises.Element == Promise<Value> {
  pull(promises, limit, isolation, Origin("when(resolved:concurrently:)", file, line)) { $0 }
}

/// Pulls promises; `take` makes of an outcome what is kept of it, or fails the whole.
private func pull<Promises: Sequence, Value: Sendable, Item: Sendable>(
  _ promises: sending Promises, _ limit: Int, _ isolation: (any Actor)?, _ origin: Origin,
  _ take: @escaping @Sendable (Result<Value, any Error>) throws -> Item
) -> Promise<[Item]> where Promises.Element == Promise<Value> {
  precondition(limit > 0, "the limit must be at least 1")
  let source = PromiseSource<Value, Item>(promises, isolation)
  let isOnMainQueue = MainQueue.is(isolation)
  return Promise(cold: origin, isOnMainQueue: isOnMainQueue) { deferred in
    let pull = Pull(source, limit: limit, take, into: deferred)
    deferred.onCancel { pull.stop(cancelling: true) }
    // Records the running promises, for the detection of cycles.
    deferred.core.wait(for: UnsettledPromises(pull))
    pull.more()
  }
}

/// A sequence that was handed over for good.
private final class PromiseSource<Value: Sendable, Item: Sendable>: @unchecked Sendable {
  // Sendable because nobody else has the sequence, and `enter` lets one attempt at a time use it.

  private struct Access {
    var isTaken = false
    var waiting = Fifo<Pull<Value, Item>>()
  }

  /// Begins at the beginning; only between `enter` and `leave`.
  let makeIterator: () -> PromiseIterator<Value>

  /// How many there are at least.
  let underestimatedCount: Int

  /// Where the sequence is used; nil means anywhere.
  let isolation: (any Actor)?

  private let access = Locked(Access())

  init<Promises: Sequence>(_ promises: Promises, _ isolation: (any Actor)?)
  where Promises.Element == Promise<Value> {
    self.isolation = isolation
    underestimatedCount = promises.underestimatedCount
    makeIterator = {
      var iterator = promises.makeIterator()
      return PromiseIterator { iterator.next() }
    }
  }

  /// Takes the sequence for a moment.
  ///
  /// A `retry` pulls while the attempt before may still be inside `next()`, on another thread.
  ///
  /// - Returns: Whether `pull` has it now; if not, `pull` is resumed when it is free.
  func enter(_ pull: Pull<Value, Item>) -> Bool {
    access.withLock { access in
      if access.isTaken { access.waiting.append(pull) }
      defer { access.isTaken = true }
      return !access.isTaken
    }
  }

  func leave() {
    let next = access.withLock { access in
      access.isTaken = false
      return access.waiting.popFirst()
    }
    guard let next else { return }
    DispatchQueue.global().async { next.resume() }
  }
}

/// A sequence's iterator.
///
/// An object, because a closure that is read from a property and written back is wrapped each time.
private final class PromiseIterator<Value: Sendable> {
  let next: () -> Promise<Value>?

  init(_ next: @escaping () -> Promise<Value>?) {
    self.next = next
  }
}

/// Pulls promises from a sequence, a few at a time.
private final class Pull<Value: Sendable, Item: Sendable>: @unchecked Sendable {
  // Sendable because `iterator` is used only by the one that has claimed to pull and has entered the
  // source, and `state` is behind a lock.
  private let source: PromiseSource<Value, Item>
  private var iterator: PromiseIterator<Value>?
  private let take: @Sendable (Result<Value, any Error>) throws -> Item
  private let deferred: Deferred<[Item]>
  private let state: Locked<PullState<Value, Item>>

  /// What the work is done for: from the beginning, because a promise may be pulled just when another
  /// fails.
  private let scopes: [WorkScope]

  init(
    _ source: PromiseSource<Value, Item>, limit: Int,
    _ take: @escaping @Sendable (Result<Value, any Error>) throws -> Item,
    into deferred: Deferred<[Item]>
  ) {
    self.source = source
    self.take = take
    scopes = deferred.core.withLock { $0.scopes }
    self.deferred = deferred
    state = Locked(PullState(limit: limit))
  }

  /// Pulls while there is room; on one thread at a time, and without recursion.
  func more() {
    if state.withLock({ $0.claim() }) { resume() }
  }

  /// Pulls; only for the one that has claimed that.
  func resume() {
    guard let isolation = source.isolation else { return pull(isolation: nil) }
    Task { await pull(isolation: isolation) }
  }

  private func pull(isolation: isolated (any Actor)?) {
    while true {
      let turn = state.withLock { $0.turn() }
      if turn == .rest { return finish() }
      // Resumed by the one that uses the sequence.
      guard source.enter(self) else { return }
      if turn == .end {
        // Here, because the iterator shares state with the sequence.
        iterator = nil
        source.leave()
        state.withLock { $0.hasEnded = true }
        continue
      }
      // The sequence is foreign code: not under the lock.
      let iterator = self.iterator ?? source.makeIterator()
      self.iterator = iterator
      let promise = iterator.next()
      source.leave()
      if let promise { begin(promise) } else { state.withLock { $0.isExhausted = true } }
    }
  }

  private func begin(_ promise: Promise<Value>) {
    let reaction = state.withLock { state in
      let reaction = Pulled(self, state.values.count)
      state.begin(promise, reaction)
      return reaction
    }
    promise.core.attach(reaction)
    if promise.core === deferred.core || promise.core.waits(for: deferred.core) {
      let error = PromiseError.resolvedWithItself(deferred.core.origin.identity)
      fail(error, at: reaction.index)
    }
    // Stopped while the sequence made the promise, or before it was attached: it never begins.
    if state.withLock({ $0.stopped == nil }) { promise.core.demand(in: scopes) }
    // The one that stopped could take back only what was attached, and cancel only what had begun.
    guard let stopped = state.withLock({ $0.stopped }) else { return }
    _ = promise.core.withdraw(reaction, cancelling: false)
    // As with a promise that a handler made: the work is joined, because nothing else would wait for it.
    let scopes = stopped.cancelling ? scopes : []
    promise.core.join(scopes)
    promise.core.abandon(cancelling: stopped.cancelling, for: scopes)
  }

  /// Pulls no more, and waits for none of those at work.
  func stop(cancelling: Bool) {
    for (promise, reaction) in state.withLock({ $0.stop(cancelling: cancelling) }) {
      _ = promise.core.withdraw(reaction, cancelling: cancelling)
    }
    // Releases the iterator.
    more()
  }

  private func settled(_ index: Int, _ result: Result<Value, any Error>) {
    switch Result(catching: { try take(result) }) {
    case .success(let item):
      let (done, released) = state.withLock { $0.fulfilled(index, item) }
      // After unlocking: this may be the last reference.
      withExtendedLifetime(released) {}
      let expected = source.underestimatedCount
      if done < expected { deferred.rise(to: Double(done) / Double(expected)) }
      more()
      finish()
    case .failure(let error):
      fail(error, at: index)
    }
  }

  private func fail(_ error: any Error, at index: Int) {
    deferred.tryFail(WhenError(position: index, underlying: error))
    stop(cancelling: false)
  }

  /// Whether promises have still to be pulled on the main queue.
  var needsMainQueue: Bool {
    MainQueue.is(source.isolation) && !state.withLock { $0.isExhausted || $0.isOver }
  }

  /// The unsettled promises and their reactions.
  var unsettled: [(Promise<Value>, Reaction)] { state.withLock { Array($0.unsettled.values) } }

  /// Fulfills the promise if everything is there.
  private func finish() {
    if let values = state.withLock({ $0.takeValues() }) { deferred.tryFulfill(values) }
  }

  /// Waits at one of the promises.
  private final class Pulled: Reaction, @unchecked Sendable {
    // Sendable as its superclass is: it adds constants only.
    private let pull: Pull
    let index: Int

    init(_ pull: Pull, _ index: Int) {
      self.pull = pull
      self.index = index
    }

    override var target: Core? { pull.deferred.core }

    // Settling one pulls the next, which is foreign code.
    override var isImmediate: Bool { false }
    override var passesProgress: Bool { false }

    override func react(to source: Core, _ agenda: inout Agenda) {
      pull.settled(index, Result { try source.settledValue() })
    }
  }
}

/// Decides when to pull, and knows what has come of it.
private struct PullState<Value: Sendable, Item: Sendable> {
  /// What the one that pulls does next.
  enum Turn {
    /// Takes another promise. → pull, end, rest
    case pull
    /// Releases the iterator. → rest
    case end
    /// Nothing; its claim is gone.
    case rest
  }

  struct Stop {
    /// Whether those at work are cancelled, and not only no longer waited for.
    let cancelling: Bool
  }

  let limit: Int

  /// Whether the sequence has no more.
  var isExhausted = false

  /// Whether the iterator has been released.
  var hasEnded = false

  /// What has been fulfilled, in the order of pulling.
  private(set) var values: [Item?] = []

  private(set) var unsettled: [Int: (Promise<Value>, Reaction)] = [:]
  private var isPulling = false
  private(set) var isOver = false

  /// How it was stopped before its end.
  private(set) var stopped: Stop?

  init(limit: Int) {
    self.limit = limit
  }

  private var due: Turn {
    if isOver || isExhausted { return hasEnded ? .rest : .end }
    return unsettled.count < limit ? .pull : .rest
  }

  /// Whether the caller pulls now: there is something to do, and no other thread does it.
  mutating func claim() -> Bool {
    guard !isPulling, due != .rest else { return false }
    isPulling = true
    return true
  }

  /// What the one that pulls does next.
  mutating func turn() -> Turn {
    // At once, or the room that another one makes in between would be seen by no thread.
    isPulling = due != .rest
    return due
  }

  mutating func begin(_ promise: Promise<Value>, _ reaction: Reaction) {
    // If pulling stopped while the sequence made the promise, nothing waits for it.
    if !isOver { unsettled[values.count] = (promise, reaction) }
    values.append(nil)
  }

  /// - Returns: How many are fulfilled, and what has to be released after unlocking.
  mutating func fulfilled(_ index: Int, _ item: Item) -> (
    done: Int, released: (Promise<Value>, Reaction)?
  ) {
    let released = unsettled.removeValue(forKey: index)
    values[index] = item
    return (values.count - unsettled.count, released)
  }

  /// All values, if this was the end.
  mutating func takeValues() -> [Item]? {
    guard isExhausted, unsettled.isEmpty, !isOver else { return nil }
    isOver = true
    return values.compactMap { $0 }
  }

  /// - Returns: What was at work.
  mutating func stop(cancelling: Bool) -> [(Promise<Value>, Reaction)] {
    isOver = true
    if stopped?.cancelling != true { stopped = Stop(cancelling: cancelling) }
    let released = unsettled
    unsettled = [:]
    return Array(released.values)
  }
}

/// The unsettled promises of a `Pull`, as dependencies of its result.
private final class UnsettledPromises<Value: Sendable, Item: Sendable>: Junction,
  @unchecked Sendable
{
  // Sendable as its superclass: adds only a constant. Weak, because the result retains this, and
  // `pull` retains the result.
  private weak let pull: Pull<Value, Item>?

  init(_ pull: Pull<Value, Item>) {
    self.pull = pull
    super.init([])
  }

  override var needsMainQueue: Bool { pull?.needsMainQueue ?? false }

  override func forEachSource(_ body: (Core, Reaction) -> Void) {
    for (promise, reaction) in pull?.unsettled ?? [] { body(promise.core, reaction) }
  }
}
