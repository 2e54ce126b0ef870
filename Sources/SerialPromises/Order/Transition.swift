extension Locked where State == SerialOrder {
  /// Changes the order under its lock, and performs the effects after the lock is released.
  ///
  /// Changes that may have effects go through here; `withLock` is for the others, and for reading.
  @inline(__always)
  func transition<Result>(_ change: (inout SerialOrder) -> Result) -> Result {
    var effects = Effects()
    let result = withLock { order in
      assert(order.line.effects.isEmpty, "a change with effects was made without a transition")
      let result = change(&order)
      if !order.line.effects.isEmpty { effects = order.takeEffects() }
      return result
    }
    if !effects.isEmpty { perform(effects) }
    return result
  }

  @inline(never)
  private func perform(_ effects: Effects) {
    effects.perform { steps in transition { $0.left(steps) } }
  }
}
