/// The contribution of a promise's progress to that of another.
struct ProgressShare {
  /// The progress of the other promise when this one starts.
  var bias = 0.0

  /// The fraction of the other promise that this one contributes.
  var fraction = 1.0

  func of(_ progress: Double) -> Double { bias + fraction * progress }

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

  mutating func notify(_ watchers: Few<Reaction>, _ fraction: Double) {
    watchers.forEach { $0.progressed(fraction, &self) }
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
  // Nil at removed positions.
  private var watchers: [Reaction?] = []
  private var removed = 0

  // Created when one of many is removed: most promises have one or two.
  private var places: [ObjectIdentifier: Int]?

  var isEmpty: Bool { watchers.count == removed }

  /// The reactions, in a list that shares no storage with this one.
  ///
  /// A copy of this one would: a removal checks for other references without acquiring the writes of
  /// the thread that has just released its copy.
  var all: Few<Reaction> {
    var all = Few<Reaction>()
    for watcher in watchers { if let watcher { all.append(watcher) } }
    return all
  }

  mutating func append(_ reaction: Reaction) {
    places?[ObjectIdentifier(reaction)] = watchers.count
    watchers.append(reaction)
  }

  mutating func remove(_ reaction: Reaction) {
    guard let place = takePlace(of: reaction) else { return }
    watchers[place] = nil
    removed += 1
    guard removed > 8, removed > watchers.count / 2 else { return }
    watchers.removeAll { $0 == nil }
    removed = 0
    places = nil
  }

  private mutating func takePlace(of reaction: Reaction) -> Int? {
    if places == nil, watchers.count > 8 {
      places = [:]
      for (place, watcher) in watchers.enumerated() {
        if let watcher { places?[ObjectIdentifier(watcher)] = place }
      }
    }
    guard places != nil else { return watchers.firstIndex { $0 === reaction } }
    return places?.removeValue(forKey: ObjectIdentifier(reaction))
  }
}
