/// Settles a promise with the outcomes of several others.
///
/// Sendable because its state is protected by a lock.
final class Combination: Sendable {
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

  /// Computes the value or error from the inputs, and from the index of the input that decided; nil if
  /// all did together.
  ///
  /// Must not capture the inputs, which would form a cycle.
  typealias Finish<Value> = @Sendable (_ decider: Int?, [Core]) throws -> Value

  private struct State {
    /// The number of inputs that are still needed for completion; 0 once the outcome is decided.
    var remaining: Int
    /// The number of inputs that can still be settled: fewer if some never will.
    var live: Int
    /// The progress of each input; empty if not watched.
    var progress: [Double] = []
    var sum = 0.0
  }

  private let rule: Rule
  private let result: Core
  private let finish: Finish<any Sendable>
  private let state: Locked<State>

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
    let combination = Combination(rule, result, count: promises.count, finish)
    let members = promises.indices.map { Member(of: combination, $0) }
    let junction = Members(promises.map(\.core), members, combination)
    result.depend(on: .combined(junction))
    // Attaches to all inputs at the same moment: otherwise an input that another thread settles
    // meanwhile could decide before one that is settled already.
    var due: [(index: Int, hasFailed: Bool, effect: Count)] = []
    var rejoining: [Core] = []
    SharedLocks.withLocks(for: junction.sources) {
      for (index, source) in junction.sources.enumerated() {
        let (attachment, hasFailed) = source.attachLocked(members[index])
        switch attachment {
        case .due: due.append((index, hasFailed, combination.count(index, hasFailed)))
        case .rejoins: rejoining.append(source)
        case .listed, .schedules: break
        }
      }
    }
    var agenda = Agenda()
    for source in rejoining { source.rejoin(&agenda) }
    for (index, hasFailed, effect) in due {
      combination.carryOut(effect, index, hasFailed, &agenda)
    }
    agenda.run()
    return AnyPromise(core: result, lifeline: Lifeline.joining(lifelines))
  }

  private init(_ rule: Rule, _ result: Core, count: Int, _ finish: @escaping Finish<any Sendable>) {
    self.rule = rule
    self.result = result
    self.finish = finish
    state = Locked(State(remaining: count, live: count))
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
    _ effect: Count, _ index: Int, _ hasFailed: Bool, _ agenda: inout Agenda
  ) {
    let decider: Int?
    switch effect {
    case .decides(let index): decider = index
    case .isLost: return Core.invalidate([result])
    case .waits:
      // A failed input does not report progress 1; under this rule it counts as complete.
      if rule == .settled, hasFailed, let reached = advance(index, to: 1) {
        result.rise(to: reached, &agenda)
      }
      return
    }
    // Nil if the promise was canceled.
    guard case .many(let junction) = result.sources else { return }
    let outcome = Outcome(Result { try finish(decider, junction.sources) })
    var walk = ProgressWalk()
    let isFirst = result.settle(
      outcome, by: .adopted, reached: junction.progress { walk.progress(of: $0) }, &agenda)
    if isFirst { junction.withdraw() }
  }

  // MARK: Progress

  /// The contribution of an input to the progress.
  private func counted(_ source: Core, _ fraction: Double) -> Double {
    rule == .settled && source.withLock({ $0.isSettled }) ? 1 : fraction
  }

  /// Records the progress of an input.
  ///
  /// - Returns: The combined progress; nil if not watched.
  private func advance(_ index: Int, to fraction: Double) -> Double? {
    state.withLock { state in
      guard index < state.progress.count else { return nil }
      let rise = max(0, fraction - state.progress[index])
      state.progress[index] += rise
      state.sum += rise
      return rule.takesMean ? state.sum / Double(state.progress.count) : state.progress[index]
    }
  }

  /// The reaction to an input.
  private final class Member: Reaction {
    private let combination: Combination
    private let index: Int

    init(of combination: Combination, _ index: Int) {
      self.combination = combination
      self.index = index
    }

    override var target: Core? { combination.result }

    // Whether the combined promise waits for each of the open inputs.
    override var isExclusive: Bool {
      combination.rule.takesMean || combination.state.withLock { $0.live == 1 }
    }

    override func sourceIsLost() -> Bool {
      combination.state.withLock { state in
        state.live -= 1
        return state.live == 0 || combination.rule == .settled
      }
    }

    override func react(to source: Core, _ agenda: inout Agenda) {
      let hasFailed = source.failure != nil
      combination.carryOut(combination.count(index, hasFailed), index, hasFailed, &agenda)
    }

    override func progressed(_ fraction: Double, _ front: inout ProgressFront) {
      guard let reached = combination.advance(index, to: fraction) else { return }
      front.rise(combination.result, to: reached)
    }
  }

  /// The inputs of the combined promise, until it is settled.
  private final class Members: Junction {
    private let members: [Member]
    private let combination: Combination

    init(_ sources: [Core], _ members: [Member], _ combination: Combination) {
      self.members = members
      self.combination = combination
      super.init(sources)
    }

    override func forEachSource(_ body: (Core, Reaction) -> Void) {
      for (source, member) in zip(sources, members) { body(source, member) }
    }

    override func progress(_ fraction: (Core) -> Double) -> Double {
      let each = sources.map { combination.counted($0, fraction($0)) }
      return combination.rule.takesMean
        ? each.reduce(0, +) / Double(each.count) : each.max() ?? 0
    }

    override func watch() -> Double {
      combination.state.withLock { state in
        if state.progress.isEmpty { state.progress = Array(repeating: 0, count: sources.count) }
      }
      return sources.enumerated().reduce(0) { reached, input in
        let fraction = combination.counted(input.element, input.element.progress)
        return max(reached, combination.advance(input.offset, to: fraction) ?? 0)
      }
    }

    override var recipe: Restart.Make? {
      let (rule, origin) = (combination.rule, combination.result.origin)
      return { [finish = combination.finish] promises in
        Combination.promise(promises, rule, origin, finish)
      }
    }
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
