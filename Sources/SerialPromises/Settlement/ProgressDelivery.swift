/// How much the progress of a promise contributes to another promise's.
struct ProgressShare {
  /// The progress of the other promise when this one starts.
  var bias = 0.0

  /// The fraction of the other promise that this one contributes.
  var fraction = 1.0

  func of(_ progress: Double) -> Double { bias + fraction * progress }

  /// The progress of the other promise from this one's.
  func part(of progress: Double) -> Double {
    fraction > 0 ? max(0, (progress - bias) / fraction) : 0
  }

  /// Composes two shares: `inner` within this one.
  func then(_ inner: ProgressShare) -> ProgressShare {
    ProgressShare(bias: of(inner.bias), fraction: fraction * inner.fraction)
  }

  /// The remaining share at a progress.
  func rest(from progress: Double) -> ProgressShare {
    ProgressShare(bias: progress, fraction: 1 - progress)
  }
}

/// A worklist of progress updates that propagate from a promise to its dependents.
///
/// Iterative, so that long chains use constant stack.
struct ProgressFront {
  private var rises = Fifo<(Core, Double)>()

  /// Propagates all pending updates, including those that they cause.
  mutating func passOn() {
    while let (core, fraction) = rises.popFirst() { core.rise(to: fraction, &self) }
  }

  /// Notifies of the progress of a promise, which has these effects.
  mutating func notify(_ effects: Settlement.Effects, _ fraction: Double) {
    effects.steps.forEach { $0(fraction) }
    effects.watchers.forEach { reaction in
      guard let target = reaction.target else { return }
      switch target.sources {
      // Otherwise the target has been resolved with another promise meanwhile.
      case .one(_, let current, let share) where current === reaction:
        rise(target, to: share.of(fraction))
      case .many(let junction):
        guard let input = reaction as? JunctionInput else { return }
        if let reached = junction.advance(input.index, to: fraction) { rise(target, to: reached) }
      case .one, nil: break
      }
    }
  }

  mutating func rise(_ core: Core, to fraction: Double) {
    rises.append((core, fraction))
  }
}

/// A handler for the progress of a promise, which runs it at its place.
typealias ProgressListener = @Sendable (_ fraction: Double) -> Void

/// A progress update for one listener, in the promise's order of events.
final class ProgressDelivery: Reaction {
  private let listener: ProgressListener
  private let fraction: Double

  init(listener: @escaping ProgressListener, fraction: Double) {
    self.listener = listener
    self.fraction = fraction
  }

  override var isImmediate: Bool { false }

  override func react(to source: Core, _ agenda: inout Agenda) {
    listener(fraction)
  }
}

/// The reactions that propagate a promise's progress, in the order of attachment.
///
/// Complexity: amortized constant time for additions and removals.
struct WatcherList {
  /// Most promises have one watcher.
  private var first: Reaction?
  private var others: [ObjectIdentifier: (number: Int, watcher: Reaction)] = [:]
  private var lastNumber = 0

  var all: TinyArray<Reaction> {
    var all = TinyArray<Reaction>()
    if let first { all.append(first) }
    guard !others.isEmpty else { return all }
    for (_, watcher) in others.values.sorted(by: { $0.number < $1.number }) { all.append(watcher) }
    return all
  }

  mutating func append(_ reaction: Reaction) {
    if first == nil, others.isEmpty { return first = reaction }
    lastNumber += 1
    others[ObjectIdentifier(reaction)] = (lastNumber, reaction)
  }

  mutating func remove(_ reaction: Reaction) {
    if reaction === first { first = nil } else { others[ObjectIdentifier(reaction)] = nil }
  }
}
