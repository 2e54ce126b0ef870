import SerialqSystem

/// The place of a waiting job among the others: ranks are compared digit by digit.
///
/// A job that is added last has its id as its rank. There is a rank between any two others, because
/// one can have any number of digits.
package struct Rank: Equatable, Sendable {
  // Separate, because most ranks have one digit, and an array of it would be allocated.
  private let first: Int
  private let others: [Int]

  package init(_ id: JobID) {
    first = id
    others = []
  }

  /// Requires at least one digit.
  private init(_ digits: [Int]) {
    first = digits[0]
    others = Array(digits.dropFirst())
  }

  private var digits: [Int] { [first] + others }

  /// The rank of a job that is added before all others, as the `number`th job of one call.
  ///
  /// `last` is the last id of that call: ranks are assigned without regard to the other jobs.
  package static func first(_ number: Int, upTo last: JobID) -> Rank {
    Rank([-last - 1, number])
  }

  /// The first digit behind another: leaves room for many ranks on both sides.
  private static let middle = 1 << 30

  /// What is left free beside a new rank, for others: halved until nothing is.
  private static let gap = 1 << 10

  /// A rank between two others, close to the upper or to the lower one, so that many in a row at
  /// the same place need few digits.
  static func between(_ lower: Rank, _ upper: Rank, isCloseToUpper: Bool) -> Rank {
    var digits: [Int] = []
    for (index, high) in upper.digits.enumerated() {
      guard index < lower.digits.count else {
        // The lower one is the beginning of the upper one.
        if high > 1 { return Rank(digits + [high - min(gap, high / 2)]) }
        digits.append(0)
        if high == 1 { break }
        continue
      }
      let low = lower.digits[index]
      let step = min(gap, (high - low) / 2)
      if step > 0 { return Rank(digits + [isCloseToUpper ? high - step : low + step]) }
      digits.append(low)
      guard high == low else { return Rank(digits + after(lower.digits.dropFirst(index + 1))) }
    }
    return Rank(digits + [middle])
  }

  /// The highest digit: above all ids.
  private static let highest = 1 << 54

  /// Digits that are higher than these.
  private static func after(_ digits: ArraySlice<Int>) -> [Int] {
    let full = digits.prefix { $0 >= highest }
    return full + [digits.dropFirst(full.count).first.map { $0 + 1 } ?? middle]
  }
}

extension Rank: Comparable {
  package static func < (one: Rank, other: Rank) -> Bool {
    one.first == other.first
      ? one.others.lexicographicallyPrecedes(other.others) : one.first < other.first
  }
}

extension Rank {
  /// `5.1048577`.
  var text: Bytes { Bytes(digits.map { "\($0)" }.joined(separator: ".").utf8) }

  init?(_ text: Bytes) {
    let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let digits = parts.compactMap { Int(String(decoding: $0, as: UTF8.self)) }
    guard !digits.isEmpty else { return nil }
    self.init(digits)
    // Also a number that is too large, or digits before which there is no room.
    guard self.text == text, digits.allSatisfy((-Self.highest...Self.highest).contains),
      others.allSatisfy({ $0 >= 0 }), others.last != 0
    else { return nil }
  }
}
