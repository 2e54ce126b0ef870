/// The progress of the inputs of a combination, recorded while it is watched.
///
/// Constant time for each rise of an input.
struct CombinedProgress {
  /// Whether the combined progress is the mean of the inputs, or else the highest.
  let isMean: Bool

  private var fractions: [Double] = []
  private var sum = 0.0

  init(isMean: Bool) {
    self.isMean = isMean
  }

  /// Starts to record.
  mutating func begin(inputs count: Int) {
    if fractions.isEmpty { fractions = Array(repeating: 0, count: count) }
  }

  /// Records the progress of an input.
  ///
  /// - Returns: The combined progress, of which the highest counts; nil if it is not recorded.
  mutating func advance(_ index: Int, to fraction: Double) -> Double? {
    guard index < fractions.count else { return nil }
    let rise = max(0, fraction - fractions[index])
    fractions[index] += rise
    sum += rise
    return isMean ? sum / Double(fractions.count) : fractions[index]
  }

  /// The combined progress of inputs with these fractions.
  func combined(_ each: [Double]) -> Double {
    isMean ? each.reduce(0, +) / Double(each.count) : each.max() ?? 0
  }
}
