import SerialPromises

// With the operations that both forms of `Atomic` have.
extension Atomic where Value == Int {
  /// The number.
  package var number: Int { load(ordering: .acquiring) }

  /// Adds to the number.
  ///
  /// - Returns: The sum.
  @discardableResult
  package func add(_ addend: Int) -> Int {
    var known = number
    while true {
      let (isDone, found) = compareExchange(
        expected: known, desired: known + addend, ordering: .acquiringAndReleasing)
      if isDone { return known + addend }
      known = found
    }
  }
}
