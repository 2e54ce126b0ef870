extension PromiseManager {
  /// Waits until no step runs and none is about to begin, also while steps wait.
  ///
  /// A manager is at rest when it is idle, when it is paused and the running step is over, and when it
  /// waits for its ``Rate``. Pause it first, and nothing begins afterwards until it is resumed. Returns
  /// early when the calling task is canceled. Called from inside a running step, which would wait for
  /// its own end, it reports ``Diagnostic/deadlock(_:)`` and returns at once.
  ///
  /// ```swift
  /// manager.pause()
  /// await manager.atRest()  // the running step has ended; the others still wait
  /// manager.resume()
  /// ```
  nonisolated(nonsending) public func atRest() async {
    await wait(for: .atRest)
  }

  /// Waits until fewer steps wait than `limit`; the running one is not counted.
  ///
  /// For code that makes steps faster than they run: nothing is refused meanwhile, and others may add
  /// steps before the caller does. Where there must never be more, use a capacity and
  /// ``addWhenRoom(_:_:)``. Returns early when the calling task is canceled.
  ///
  /// Called from inside a running step while more steps wait, it reports ``Diagnostic/deadlock(_:)``
  /// and returns at once: none of them begins before that step has ended.
  ///
  /// ```swift
  /// for url in urls {
  ///   await manager.fewerWaiting(than: 10)
  ///   manager.add { then in upload(url) { error in then(error) } }
  /// }
  /// ```
  ///
  /// - Parameter limit: At least 1, with which it returns when nothing waits.
  nonisolated(nonsending) public func fewerWaiting(than limit: Int) async {
    precondition(limit > 0, "a limit is at least 1")
    await wait(for: .waitingBelow(limit))
  }
}
