extension PromiseManager {
  /// Waits until no step runs or is about to start, even if steps wait.
  ///
  /// A manager is at rest when it is idle, when it is paused and the running step has ended, and
  /// when it waits for its ``Rate``. Pause it first to keep it at rest until it is resumed. Returns
  /// early if the calling task is canceled. In a running step, which would deadlock, it reports
  /// ``Diagnostic/deadlock(_:)`` and returns immediately.
  ///
  /// ```swift
  /// manager.pause()
  /// // The running step has ended; the others still wait.
  /// await manager.atRest()
  /// manager.resume()
  /// ```
  nonisolated(nonsending) public func atRest() async {
    await wait(for: .atRest)
  }

  /// Waits until fewer than `limit` steps wait, not counting the running one.
  ///
  /// For code that adds steps faster than they run. Steps are not refused meanwhile, and other
  /// callers may add steps first. For a strict limit, use a capacity and ``addWhenRoom(_:_:)``.
  /// Returns early if the calling task is canceled.
  ///
  /// In a running step, while the limit is exceeded, it reports ``Diagnostic/deadlock(_:)`` and
  /// returns immediately: no waiting step starts before that step has ended.
  ///
  /// ```swift
  /// for url in urls {
  ///   await manager.fewerWaiting(than: 10)
  ///   manager.add { then in upload(url) { error in then(error) } }
  /// }
  /// ```
  ///
  /// - Parameter limit: At least 1, which waits until no step waits.
  nonisolated(nonsending) public func fewerWaiting(than limit: Int) async {
    require(limit > 0, "a limit is at least 1")
    await wait(for: .waitingBelow(limit))
  }
}
