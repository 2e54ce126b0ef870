/// What the progress of one promise counts in another's.
struct ProgressShare {
  /// Where the other stands when the one begins.
  var bias = 0.0

  /// How much of the other the one is.
  var fraction = 1.0

  func of(_ progress: Double) -> Double { bias + fraction * progress }

  /// This share, taken of what another share is of.
  func then(_ inner: ProgressShare) -> ProgressShare {
    ProgressShare(bias: of(inner.bias), fraction: fraction * inner.fraction)
  }

  /// What is left when a share has been done.
  func rest(from progress: Double) -> ProgressShare {
    ProgressShare(bias: progress, fraction: 1 - progress)
  }
}

/// Progress on its way down, from a promise to those that hang on it.
///
/// A list instead of recursion, so that long chains take constant stack.
struct ProgressFront {
  private var rises = Fifo<(Core, Double)>()

  /// Passes on what is there, and what comes from it.
  mutating func passOn() {
    while let (core, fraction) = rises.popFirst() { core.rise(to: fraction, &self) }
  }

  mutating func notify(_ watchers: [Reaction], _ fraction: Double) {
    for watcher in watchers { watcher.progressed(fraction, &self) }
  }

  mutating func rise(_ core: Core, to fraction: Double) {
    rises.append((core, fraction))
  }
}

/// Somebody who is told how far a promise has come.
final class ProgressListener: Sendable {
  private let place: HandlerPlace
  private let handler: @Sendable (Double) -> Void

  init(on place: HandlerPlace, _ handler: @escaping @Sendable (Double) -> Void) {
    self.place = place
    self.handler = handler
  }

  func receive(_ fraction: Double) {
    place.call { [handler] in handler(fraction) }
  }
}

/// One progress for one listener, in its place in the promise's order.
final class ProgressDelivery: Reaction, @unchecked Sendable {
  // Sendable as its superclass is: it adds constants only.
  private let listener: ProgressListener
  private let fraction: Double

  init(listener: ProgressListener, fraction: Double) {
    self.listener = listener
    self.fraction = fraction
  }

  override var isImmediate: Bool { false }

  override func react(to source: Core, _ agenda: inout Agenda) {
    listener.receive(fraction)
  }
}

/// The reactions that pass a promise's progress on, in the order of attaching.
///
/// Adding and removing take constant time on average.
struct WatcherList {
  // Nil where one was removed.
  private var watchers: [Reaction?] = []
  private var removed = 0

  // Only when one of many has been removed: most promises have one or two.
  private var places: [ObjectIdentifier: Int]?

  var all: [Reaction] { watchers.compactMap { $0 } }

  mutating func append(_ reaction: Reaction) {
    places?[ObjectIdentifier(reaction)] = watchers.count
    watchers.append(reaction)
  }

  mutating func remove(_ reaction: Reaction) {
    guard let place = takePlace(of: reaction) else { return }
    watchers[place] = nil
    removed += 1
    guard removed > 8, removed > watchers.count / 2 else { return }
    watchers = all
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
