extension Locked where State == SerialOrder {
  /// Makes a transition, and performs its effects after the lock is released.
  @inline(__always)
  func transition<Result>(
    _ body: (inout SerialOrder, inout Consequences?) -> Result
  ) -> Result {
    var consequences: Consequences?
    let result = withLock { body(&$0, &consequences) }
    if let consequences { carryOut(consequences) }
    return result
  }

  @inline(never)
  private func carryOut(_ consequences: Consequences) {
    consequences.perform { steps in transition { $0.left(steps, &$1) } }
  }
}
