/// Settles a promise with the outcomes of several others.
final class Combination: Junction {
  /// The condition that settles the combined promise.
  enum Rule {
    /// All are fulfilled, or one fails.
    case all
    /// All are settled.
    case settled
    /// One is fulfilled, or all have failed.
    case any
    /// One is settled.
    case race

    /// Whether all inputs count, so that the progress is their mean; otherwise it is the maximum.
    var takesMean: Bool { self == .all || self == .settled }
  }

  /// Computes the value or error from the inputs, and from the index of the input that decided; nil
  /// if all did together.
  ///
  /// Must not capture the inputs, which would form a cycle.
  typealias Finish<Value> = @Sendable (_ decider: Int?, [Core]) throws -> Value

  private struct State {
    /// The number of inputs that are still needed for completion; 0 once the outcome is decided.
    var remaining: Int
    /// The number of inputs that can still be settled: fewer if some never will.
    var live: Int
    var progress: CombinedProgress
  }

  let sources: [Core]
  private let inputs: [JunctionInput]
  private let rule: Rule
  private let origin: Origin
  private let finish: Finish<any Sendable>
  private let state: Locked<State>

  private init(
    _ sources: [Core], _ inputs: [JunctionInput], _ rule: Rule, _ origin: Origin,
    _ finish: @escaping Finish<any Sendable>
  ) {
    self.sources = sources
    self.inputs = inputs
    self.rule = rule
    self.origin = origin
    self.finish = finish
    let progress = CombinedProgress(isMean: rule.takesMean)
    state = Locked(State(remaining: sources.count, live: sources.count, progress: progress))
  }

  /// Combines promises; requires at least one.
  static func promise(
    _ promises: [AnyPromise], _ rule: Rule, _ origin: Origin,
    _ finish: @escaping Finish<any Sendable>
  ) -> AnyPromise {
    let lifelines = promises.compactMap(\.lifeline)
    let areDemanded = promises.allSatisfy { promise in
      promise.lifeline == nil || promise.core.withLock { $0.isDemanded }
    }
    let result = Core(origin: origin, isDemanded: areDemanded)
    let inputs = promises.indices.map { JunctionInput(of: result, $0) }
    let combination = Combination(promises.map(\.core), inputs, rule, origin, finish)
    result.depend(on: .combined(combination))
    Agenda.run { combination.attach(to: result, &$0) }
    return AnyPromise(core: result, lifeline: Lifeline.joining(lifelines))
  }

  /// Attaches to all inputs at the same moment: otherwise an input that another thread settles
  /// meanwhile could decide before one that is settled already.
  private func attach(to result: Core, _ agenda: inout Agenda) {
    var due: [(index: Int, hasFailed: Bool, effect: Count)] = []
    var rejoining: [Core] = []
    SharedLocks.withLocks(for: sources) {
      forEachSource { source, input in
        let (attachment, hasFailed) = source.attachLocked(input)
        switch attachment {
        case .due: due.append((input.index, hasFailed, count(input.index, hasFailed)))
        case .rejoins: rejoining.append(source)
        case .listed, .schedules: break
        }
      }
    }
    for source in rejoining { source.rejoin(&agenda) }
    for (index, hasFailed, effect) in due {
      carryOut(effect, index, hasFailed, result, &agenda)
    }
  }

  func forEachSource(_ body: (Core, JunctionInput) -> Void) {
    for (source, input) in zip(sources, inputs) { body(source, input) }
  }

  // MARK: Settling

  /// The effect of the settlement of an input.
  private enum Count {
    /// The input that decided; nil if all did together.
    case decides(Int?)
    /// Others are open.
    case waits
    /// The inputs that are open will never be settled.
    case isLost
  }

  /// Counts a settled input.
  private func count(_ index: Int, _ hasFailed: Bool) -> Count {
    state.withLock { state in
      guard state.remaining > 0 else { return .waits }
      state.live -= 1
      switch (rule, hasFailed) {
      case (.all, true), (.any, false), (.race, _):
        state.remaining = 0
        return .decides(index)
      case (.all, false), (.any, true), (.settled, _):
        state.remaining -= 1
        if state.remaining == 0 { return .decides(nil) }
        return state.live == 0 ? .isLost : .waits
      }
    }
  }

  private func carryOut(
    _ effect: Count, _ index: Int, _ hasFailed: Bool, _ result: Core, _ agenda: inout Agenda
  ) {
    switch effect {
    case .decides(let decider):
      let outcome = Outcome(Result { try finish(decider, sources) })
      var walk = ProgressWalk()
      var effects = Settlement.Effects()
      guard
        result.record(
          outcome, by: .adopted, reached: progress { walk.progress(of: $0) }, &effects)
      else { return }
      // Before anything is notified: a cancellation of another promise of an input would find that
      // the input is still wanted.
      withdraw()
      result.carryOut(effects, &agenda)
    case .isLost: Core.invalidate([result])
    case .waits:
      // A failed input does not report progress 1; under this rule it counts as complete.
      if rule == .settled, hasFailed, let reached = advance(index, to: 1) {
        result.rise(to: reached, &agenda)
      }
    }
  }

  func settled(_ index: Int, _ source: Core, of result: Core, _ agenda: inout Agenda) {
    let hasFailed = source.failure != nil
    carryOut(count(index, hasFailed), index, hasFailed, result, &agenda)
  }

  var waitsForAll: Bool { rule.takesMean || state.withLock { $0.live == 1 } }

  func sourceIsLost() -> Bool {
    state.withLock { state in
      state.live -= 1
      return state.live == 0 || rule == .settled
    }
  }

  // MARK: Progress

  /// The contribution of an input to the progress.
  private func counted(_ source: Core, _ fraction: Double) -> Double {
    rule == .settled && source.withLock({ $0.isSettled }) ? 1 : fraction
  }

  func progress(_ fraction: (Core) -> Double) -> Double {
    let each = sources.map { counted($0, fraction($0)) }
    return state.withLock { $0.progress.combined(each) }
  }

  func watch() -> Double {
    state.withLock { $0.progress.begin(inputs: sources.count) }
    return sources.enumerated().reduce(0) { reached, input in
      let fraction = counted(input.element, input.element.progress)
      return max(reached, advance(input.offset, to: fraction) ?? 0)
    }
  }

  func advance(_ index: Int, to fraction: Double) -> Double? {
    state.withLock { $0.progress.advance(index, to: fraction) }
  }

  var recipe: Restart.Make? {
    { [rule, origin, finish] promises in Combination.promise(promises, rule, origin, finish) }
  }
}

extension Promise {
  /// Combines promises.
  init(
    combining promises: [AnyPromise], _ rule: Combination.Rule, _ origin: Origin,
    _ finish: @escaping Combination.Finish<Value>
  ) {
    guard !promises.isEmpty else {
      let outcome = Outcome(Result { try finish(nil, []) })
      self.init(hot: Core(origin: origin, outcome))
      return
    }
    self.init(Combination.promise(promises, rule, origin) { try finish($0, $1) })
  }
}
