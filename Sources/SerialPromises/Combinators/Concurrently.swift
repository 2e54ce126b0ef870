import Dispatch

/// Waits until all promises are fulfilled, with a limit on the number of running ones.
///
/// ```swift
/// let pages = when(urls.lazy.map { url in fetch(url) }, concurrently: 4)
/// ```
///
/// The sequence is iterated on the caller's actor: in a `@MainActor` function, and at the top level
/// of `main.swift`, on the main actor. Its closures may therefore access the same state as the
/// caller. Without isolation, it is iterated on a queue of its own. It is never accessed by two threads
/// concurrently.
///
/// - Parameters:
///   - promises: A sequence of promises. The next one is pulled, and started if cold, when the
///     limit allows. Pulling starts when the result is demanded.
///   - limit: The maximum number of unsettled promises, at least 1.
///   - isolation: The actor that iterates the sequence: the caller's. Leave it out. While
///     ``Promise/wait(timeout:)`` blocks the main thread, nothing can be pulled on the main actor.
///   - file: The source location, for diagnostics.
///   - line: The source location, for diagnostics.
///   - caller: The caller's actor, even if `isolation` is `nil`. Leave it out.
/// - Returns: A cold promise of all values, in the order of the sequence. If one fails, it fails
///   with a ``WhenError`` with the index, and no further promises are pulled. Its progress is the
///   fraction of fulfilled promises, if the sequence provides its length.
public func when<Promises: Sequence, Value: Sendable>(
  _ promises: sending Promises, concurrently limit: Int,
  isolation: isolated (any Actor)? = #isolation,
  file: StaticString = #fileID, line: UInt = #line, caller: (any Actor)? = #isolation
) -> Promise<[Value]> where Promises.Element == Promise<Value> {
  // At the top level of `main.swift`, the compiler accepts `nil` with a closure of the main actor.
  let isolation = isolation ?? caller
  return pull(promises, limit, isolation, Origin("when(concurrently:)", file, line)) {
    try $0.get()
  }
}

/// Waits until all promises are settled, with a limit on the number of running ones.
///
/// Never fails.
///
/// ```swift
/// let outcomes = when(resolved: urls.lazy.map { url in fetch(url) }, concurrently: 4)
/// ```
///
/// The sequence is iterated as described for ``when(_:concurrently:isolation:file:line:caller:)``.
///
/// - Parameters:
///   - promises: A sequence of promises. The next one is pulled, and started if cold, when the
///     limit allows. Pulling starts when the result is demanded.
///   - limit: The maximum number of unsettled promises, at least 1.
///   - isolation: The actor that iterates the sequence: the caller's. Leave it out.
///   - file: The source location, for diagnostics.
///   - line: The source location, for diagnostics.
///   - caller: The caller's actor, even if `isolation` is `nil`. Leave it out.
/// - Returns: A cold promise of all outcomes, in the order of the sequence. Its progress is the
///   fraction of settled promises, if the sequence provides its length.
public func when<Promises: Sequence, Value: Sendable>(
  resolved promises: sending Promises, concurrently limit: Int,
  isolation: isolated (any Actor)? = #isolation,
  file: StaticString = #fileID, line: UInt = #line, caller: (any Actor)? = #isolation
) -> Promise<[Result<Value, any Error>]> where Promises.Element == Promise<Value> {
  let isolation = isolation ?? caller
  return pull(promises, limit, isolation, Origin("when(resolved:concurrently:)", file, line)) { $0 }
}

/// Pulls promises.
///
/// `take` converts an outcome to an item, or throws to fail the result.
private func pull<Promises: Sequence, Value: Sendable, Item: Sendable>(
  _ promises: sending Promises, _ limit: Int, _ isolation: (any Actor)?, _ origin: Origin,
  _ take: @escaping @Sendable (Result<Value, any Error>) throws -> Item
) -> Promise<[Item]> where Promises.Element == Promise<Value> {
  require(limit > 0, "a limit is at least 1")
  // Only a collection yields the same elements again: an iterator would leave out those of the first
  // attempt.
  let isRepeatable = promises is any Collection
  let source = PromiseSource<Value, Item>(promises, isolation)
  let isOnMainQueue = MainQueue.is(isolation)
  return Promise(cold: origin, isOnMainQueue: isOnMainQueue, isRepeatable: isRepeatable) {
    deferred in
    let pull = Pull(source, limit: limit, take, into: deferred)
    deferred.onCancel { pull.stop(cancelling: true) }
    // Records the running promises, for the detection of cycles.
    deferred.core.wait(for: UnsettledPromises(pull))
    pull.more()
  }
}

/// A sequence whose ownership was transferred.
private final class PromiseSource<Value: Sendable, Item: Sendable>: @unchecked Sendable {
  // Sendable because no other reference to the sequence exists, and one thread at a time uses it.

  /// Creates an iterator; on the actor or the queue, as all of its uses.
  let makeIterator: () -> PromiseIterator<Value>

  /// The minimum number of promises.
  let underestimatedCount: Int

  /// The actor that iterates the sequence; nil means the queue.
  let isolation: (any Actor)?

  /// A `retry` pulls while the previous attempt may still be inside `next()` on another thread.
  let queue = DispatchQueue(label: "SerialPromises.when(concurrently:)")

  init<Promises: Sequence>(_ promises: Promises, _ isolation: (any Actor)?)
  where Promises.Element == Promise<Value> {
    self.isolation = isolation
    underestimatedCount = promises.underestimatedCount
    makeIterator = {
      var iterator = promises.makeIterator()
      return PromiseIterator { iterator.next() }
    }
  }
}

/// The iterator of the sequence.
///
/// A class, because a closure that is read from a property and written back is wrapped again each
/// time.
private final class PromiseIterator<Value: Sendable> {
  let next: () -> Promise<Value>?

  init(_ next: @escaping () -> Promise<Value>?) {
    self.next = next
  }
}

/// Pulls promises from a sequence, up to a limit at a time.
private final class Pull<Value: Sendable, Item: Sendable>: @unchecked Sendable {
  // Sendable because `iterator` is accessed only by the holder of the pulling claim, on the actor or
  // the queue of the source, and `state` is protected by a lock.
  private let source: PromiseSource<Value, Item>
  private var iterator: PromiseIterator<Value>?
  private let take: @Sendable (Result<Value, any Error>) throws -> Item
  private let deferred: Deferred<[Item]>
  private let state: Locked<PullState<Value, Item>>

  /// The scopes of the work.
  ///
  /// Read initially, because a promise may be pulled while another one fails.
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

  /// Pulls while the limit allows; on one thread at a time, and without recursion.
  func more() {
    if state.withLock({ $0.claim() }) { resume() }
  }

  /// Pulls.
  ///
  /// Requires the claim.
  func resume() {
    guard let isolation = source.isolation else {
      return source.queue.async { self.pull(isolation: nil) }
    }
    Task { await pull(isolation: isolation) }
  }

  private func pull(isolation: isolated (any Actor)?) {
    while true {
      let action = state.withLock { $0.nextAction() }
      if action == .rest { return finish() }
      if action == .end {
        // Here, because the iterator shares state with the sequence.
        iterator = nil
        state.withLock { $0.hasEnded = true }
        continue
      }
      // Not under the lock: the sequence is user code.
      let iterator = self.iterator ?? source.makeIterator()
      self.iterator = iterator
      let promise = iterator.next()
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
    // If pulling stopped while the sequence made the promise, or before it was attached, it never
    // starts.
    if state.withLock({ $0.stopped == nil }) {
      promise.core.demand(in: scopes)
      if let step = promise.core.deadlockedStep(in: scopes) {
        fail(PromiseError.deadlock(step), at: reaction.index)
      }
    }
    // `stop` could withdraw only attached reactions, and cancel only started promises.
    guard let stopped = state.withLock({ $0.stopped }) else { return }
    _ = promise.core.withdraw(reaction, cancelling: false)
    // As for a promise that a handler returned: joins its scopes, because nothing else waits for
    // its work.
    let scopes = stopped.cancelling ? scopes : []
    promise.core.join(scopes)
    promise.core.abandon(cancelling: stopped.cancelling, for: scopes)
  }

  /// Stops pulling, and withdraws from the running promises.
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

  /// Whether promises remain to be pulled on the main queue.
  var needsMainQueue: Bool {
    MainQueue.is(source.isolation) && !state.withLock { $0.isExhausted || $0.isOver }
  }

  /// The unsettled promises and their reactions.
  var unsettled: [(Promise<Value>, Reaction)] { state.withLock { Array($0.unsettled.values) } }

  /// Fulfills the result if all values are available.
  private func finish() {
    if let values = state.withLock({ $0.takeValues() }) { deferred.tryFulfill(values) }
  }

  /// The reaction to a pulled promise.
  private final class Pulled: Reaction, @unchecked Sendable {
    // Sendable as its superclass: adds only constants.
    private let pull: Pull
    let index: Int

    init(_ pull: Pull, _ index: Int) {
      self.pull = pull
      self.index = index
    }

    override var target: Core? { pull.deferred.core }

    // A settlement pulls the next promise, which runs user code.
    override var isImmediate: Bool { false }
    override var passesProgress: Bool { false }

    override func react(to source: Core, _ agenda: inout Agenda) {
      pull.settled(index, Result { try source.settledValue() })
    }
  }
}

/// The state machine of `Pull`.
private struct PullState<Value: Sendable, Item: Sendable> {
  /// The next action of the holder of the claim.
  enum NextAction {
    /// Pulls another promise. → pull, end, rest
    case pull
    /// Releases the iterator. → rest
    case end
    /// Stops. The claim has been released.
    case rest
  }

  struct Stop {
    /// Whether the running promises are canceled as well.
    let cancelling: Bool
  }

  let limit: Int

  /// Whether the sequence has ended.
  var isExhausted = false

  /// Whether the iterator has been released.
  var hasEnded = false

  /// The items in the order of the sequence.
  private(set) var values: [Item?] = []

  private(set) var unsettled: [Int: (Promise<Value>, Reaction)] = [:]
  private var isPulling = false
  private(set) var isOver = false

  /// How pulling was stopped early.
  private(set) var stopped: Stop?

  init(limit: Int) {
    self.limit = limit
  }

  private var due: NextAction {
    if isOver || isExhausted { return hasEnded ? .rest : .end }
    return unsettled.count < limit ? .pull : .rest
  }

  /// Gives the caller the claim if there is work and no other thread holds the claim.
  mutating func claim() -> Bool {
    guard !isPulling, due != .rest else { return false }
    isPulling = true
    return true
  }

  /// The next action of the holder of the claim.
  mutating func nextAction() -> NextAction {
    // Atomic: otherwise no thread would notice capacity that becomes free in between.
    isPulling = due != .rest
    return due
  }

  mutating func begin(_ promise: Promise<Value>, _ reaction: Reaction) {
    // If pulling stopped while the sequence made the promise, nothing waits for it.
    if !isOver { unsettled[values.count] = (promise, reaction) }
    values.append(nil)
  }

  /// - Returns: The number of fulfilled promises, and objects to release after unlocking.
  mutating func fulfilled(_ index: Int, _ item: Item) -> (
    done: Int, released: (Promise<Value>, Reaction)?
  ) {
    let released = unsettled.removeValue(forKey: index)
    values[index] = item
    return (values.count - unsettled.count, released)
  }

  /// All values, if this was the last one.
  mutating func takeValues() -> [Item]? {
    guard isExhausted, unsettled.isEmpty, !isOver else { return nil }
    isOver = true
    return values.compactMap { $0 }
  }

  /// - Returns: The unsettled promises.
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
