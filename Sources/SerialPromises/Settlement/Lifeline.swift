/// Held by every copy of a cold promise and of what hangs on it: notices when all are gone.
///
/// A promise holds those that hang on it, to tell them, and they hold it, to demand it. That circle
/// ends when the promise is settled; but one that was never started never will be.
final class Lifeline: @unchecked Sendable {
  // Sendable because it is set once, before anybody else can see it.
  private weak var root: Core?
  private let others: [Lifeline]

  /// For a cold promise.
  init(root: Core) {
    self.root = root
    others = []
  }

  /// For what hangs on several promises.
  private init(others: [Lifeline]) {
    self.others = others
  }

  static func joining(_ lifelines: [Lifeline]) -> Lifeline? {
    lifelines.count > 1 ? Lifeline(others: lifelines) : lifelines.first
  }

  deinit {
    guard let root, root.withLock({ $0.recipe != nil }) else { return }
    // A list instead of recursion: the chain may be long.
    var frontier = [root]
    while let core = frontier.popLast() {
      var (reactions, spent) = core.withLock { $0.dissolve() }
      // Or what never ends would collect whatever it was ever combined in.
      spent.upstream?.sources(of: core).forEach { source, reaction in
        _ = source.withdraw(reaction, cancelling: false)
      }
      withExtendedLifetime(spent) {}
      spent = (nil, nil)
      while let reaction = reactions.popFirst() {
        if let target = reaction.target { frontier.append(target) }
      }
    }
  }
}
