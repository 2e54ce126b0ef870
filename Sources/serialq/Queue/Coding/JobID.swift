import SerialqSystem

/// The number of a job in its queue, counted from 1 and never reused.
package typealias JobID = Int

extension JobID {
  /// Below 2^53, the limit of exact integers in `jq` and JavaScript, and low enough that the next
  /// id fits in a line.
  static var valid: ClosedRange<JobID> { 1...(1 << 53) - 1 }

  /// Parses the decimal digits of an id.
  package static func parse(_ digits: Bytes) -> JobID? {
    JobID(decimal: digits).flatMap { valid ~= $0 ? $0 : nil }
  }
}

extension ClosedRange<JobID> {
  /// `3-7`, or `3` for a single id.
  package var text: String { count == 1 ? "\(lowerBound)" : "\(lowerBound)-\(upperBound)" }

  /// Parses `3`, and `3-7` whose ends may be equal.
  package init?(_ text: Bytes) {
    let parts = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    let ends = parts.compactMap { JobID.parse(Bytes($0)) }
    guard ends.count == parts.count, ends.count <= 2, let first = ends.first, let last = ends.last,
      first <= last
    else { return nil }
    self = first...last
  }
}
