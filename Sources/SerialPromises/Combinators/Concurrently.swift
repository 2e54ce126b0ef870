import Dispatch

/// Runs the promises of a sequence, a limited number at a time, until all are fulfilled.
///
/// ```swift
/// let pages = when(urls.lazy.map { url in fetch(url) }, concurrently: 4)
/// ```
///
/// The sequence is iterated on the caller's actor: in a `@MainActor` function, and at the top level
/// of `main.swift`, on the main actor. Its closures may therefore access the same state as the
/// caller. Without isolation, it is iterated on a queue of its own. It is never accessed by two
/// threads concurrently.
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

/// Runs the promises of a sequence, a limited number at a time, until all are settled.
///
/// Never fails.
///
/// ```swift
/// let results = when(resolved: urls.lazy.map { fetch($0) }, concurrently: 4)
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
  // Only a collection yields the same elements again: an iterator would leave out what the first
  // attempt took.
  let isRepeatable = promises is any Collection
  let source = PromiseSource<Value>(promises, isolation)
  let traits = Core.Traits(origin: origin, runsOnMainQueue: MainQueue.is(isolation))
  return Promise(cold: traits, isRepeatable: isRepeatable) { deferred in
    let pull = Pull(source, limit: limit, take, into: deferred)
    deferred.onCancel { pull.stop(cancelling: true) }
    // For the detection of cycles.
    deferred.core.withLock { $0.depend(on: .combined(pull)) }
    pull.more()
  }
}

/// A sequence whose ownership was transferred.
private final class PromiseSource<Value: Sendable>: @unchecked Sendable {
  // Sendable because no other reference to the sequence exists, and it is iterated at one place.
  let promises: any Sequence<Promise<Value>>

  /// The minimum number of promises.
  let underestimatedCount: Int

  /// Iterates the sequence: the actor or, without one, a serial queue.
  ///
  /// Serial, because a `retry` pulls while the previous attempt may still be inside `next()`.
  let place: HandlerPlace

  init(_ promises: any Sequence<Promise<Value>>, _ isolation: (any Actor)?) {
    self.promises = promises
    underestimatedCount = promises.underestimatedCount
    let queue = DispatchQueue(label: "SerialPromises.when(concurrently:)")
    place = HandlerPlace(queue, isolation: isolation)
  }
}

/// Pulls promises from a sequence, up to a limit at a time.
private final class Pull<Value: Sendable, Item: Sendable>: Junction, Sendable {
  private let source: PromiseSource<Value>
  private let take: @Sendable (Result<Value, any Error>) throws -> Item
  private let deferred: Deferred<[Item]>
  private let state: Locked<PullState<Value, Item>>

  /// The scopes of the work.
  ///
  /// Read initially, because a promise may be pulled while another one fails.
  private let scopes: [WorkScope]

  init(
    _ source: PromiseSource<Value>, limit: Int,
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
    guard state.withLock({ $0.claim() }) else { return }
    // The sequence may wait for a step, as the code that caused the pull may. It reports nothing.
    let mark = RunningStep.Mark(RunningStep.current?.ofCallback)
    source.place.call { RunningStep.local.withValue(mark) { self.pull() } }
  }

  private func pull() {
    while let (isOver, iterator) = state.withLock({ $0.next() }) {
      // Released here, because it shares state with the sequence.
      if isOver { continue }
      // Not under the lock: the sequence is user code.
      var iterator = iterator ?? source.promises.makeIterator()
      let promise = iterator.next()
      state.withLock { [iterator] in $0.pulled(iterator, isLast: promise == nil) }
      if let promise { begin(promise) }
    }
    finish()
  }

  private func begin(_ promise: Promise<Value>) {
    let reaction = state.withLock { state in
      // A settlement calls `take`, and asks for the next promise.
      let reaction = JunctionInput(of: deferred.core, state.values.count, runsUserCode: true)
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
    if state.withLock({ $0.end == nil }) {
      promise.core.escalate(to: deferred.core.withLock { $0.priority })
      promise.core.demand(in: scopes)
      if let step = promise.core.deadlockedStep(in: scopes) {
        fail(PromiseError.deadlock(step), at: reaction.index)
      }
    }
    // `stop` could withdraw only attached reactions, and cancel only started promises.
    guard let end = state.withLock({ $0.end }) else { return }
    _ = promise.core.withdraw(reaction, cancelling: false)
    let isCancelled = end == .cancelled
    promise.core.abandon(cancelling: isCancelled, for: isCancelled ? scopes : [])
  }

  /// Stops pulling, and withdraws from the running promises.
  func stop(cancelling: Bool) {
    for (promise, reaction) in state.withLock({ $0.stop(cancelling: cancelling) }) {
      _ = promise.core.withdraw(reaction, cancelling: cancelling, for: scopes)
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
      if done < expected {
        Agenda.run { deferred.core.rise(to: Double(done) / Double(expected), &$0) }
      }
      more()
      finish()
    case .failure(let error):
      fail(error, at: index)
    }
  }

  private func fail(_ error: any Error, at index: Int) {
    // First, or another thread could pull a promise after the failure has been observed.
    stop(cancelling: false)
    deferred.tryFail(WhenError(position: index, underlying: error))
  }

  /// Fulfills the result if all values are available.
  private func finish() {
    if let values = state.withLock({ $0.takeValues() }) { deferred.tryFulfill(values) }
  }

  // MARK: Junction

  // The promises are demanded when they are pulled, and contribute no progress of their own.
  var sources: [Core] { [] }
  var waitsForAll: Bool { true }

  func forEachSource(_ body: (Core, JunctionInput) -> Void) {
    for (promise, input) in state.withLock({ Array($0.unsettled.values) }) {
      body(promise.core, input)
    }
  }

  func settled(_ index: Int, _ source: Core, of result: Core, _ agenda: inout Agenda) {
    settled(index, source.settledOutcome.result())
  }

  func sourceIsLost() -> Bool { true }
  func progress(_ fraction: (Core) -> Double) -> Double { 0 }
  func watch() -> Double { 0 }
  func advance(_ index: Int, to fraction: Double) -> Double? { nil }
  var recipe: Restart.Make? { nil }
}

/// The state machine of `Pull`.
private struct PullState<Value: Sendable, Item: Sendable> {
  enum End {
    /// No further promises are pulled.
    case stopped
    /// As `stopped`, and the running promises are canceled.
    case cancelled
  }

  let limit: Int

  /// Nil at the beginning, at the end, and while the holder of the claim uses it.
  private var iterator: (any IteratorProtocol<Promise<Value>>)?

  /// Whether the sequence has ended.
  private var isExhausted = false

  /// The items in the order of the sequence.
  private(set) var values: [Item?] = []

  private(set) var unsettled: [Int: (Promise<Value>, JunctionInput)] = [:]
  private var isPulling = false
  private(set) var end: End?

  init(limit: Int) {
    self.limit = limit
  }

  /// Whether no promise is to be pulled any more.
  var isOver: Bool { isExhausted || end != nil }

  private var isDue: Bool { isOver ? iterator != nil : unsettled.count < limit }

  /// Gives the caller the claim if there is work and no other thread holds the claim.
  mutating func claim() -> Bool {
    guard !isPulling, isDue else { return false }
    isPulling = true
    return true
  }

  /// The next action of the holder of the claim: another pull or, if pulling is over, the release
  /// of the iterator.
  ///
  /// - Returns: Nil if there is none; the claim has been released.
  mutating func next() -> (isOver: Bool, iterator: (any IteratorProtocol<Promise<Value>>)?)? {
    // Atomic: otherwise no thread would notice capacity that becomes free in between.
    isPulling = isDue
    return isPulling ? (isOver, iterator.take()) : nil
  }

  mutating func pulled(_ iterator: any IteratorProtocol<Promise<Value>>, isLast: Bool) {
    if isLast { isExhausted = true } else { self.iterator = iterator }
  }

  mutating func begin(_ promise: Promise<Value>, _ reaction: JunctionInput) {
    // If pulling stopped while the sequence made the promise, nothing waits for it.
    if end == nil { unsettled[values.count] = (promise, reaction) }
    values.append(nil)
  }

  /// - Returns: The number of fulfilled promises, and objects to release after unlocking.
  mutating func fulfilled(_ index: Int, _ item: Item) -> (
    done: Int, released: (Promise<Value>, JunctionInput)?
  ) {
    let released = unsettled.removeValue(forKey: index)
    values[index] = item
    return (values.count - unsettled.count, released)
  }

  /// All values, if this was the last one.
  mutating func takeValues() -> [Item]? {
    guard isExhausted, unsettled.isEmpty, end == nil else { return nil }
    end = .stopped
    return values.compactMap { $0 }
  }

  /// - Returns: The unsettled promises.
  mutating func stop(cancelling: Bool) -> [(Promise<Value>, JunctionInput)] {
    if end != .cancelled { end = cancelling ? .cancelled : .stopped }
    let released = unsettled
    unsettled = [:]
    return Array(released.values)
  }
}
