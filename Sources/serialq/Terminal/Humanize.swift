/// Durations as people write and read them.
enum Humanize {
  /// Longer than anybody waits, and short enough to add to any date without overflow.
  private static let longest: Int64 = 100 * 365 * 86_400

  /// Writes `0.3s`, `12s`, `4m 05s`, `2h 03m` or `3d 04h`.
  ///
  /// Cut off and never rounded up, so that a job is not said to have run for longer than it did.
  /// A clock set back shows as `0.0s`.
  static func duration(_ duration: Duration) -> String {
    let (seconds, attoseconds) = max(.zero, duration).components
    switch seconds {
    case ..<10: return "\(seconds).\(attoseconds / 100_000_000_000_000_000)s"
    case ..<60: return "\(seconds)s"
    case ..<3_600: return "\(seconds / 60)m \(twoDigits(seconds % 60))s"
    case ..<86_400: return "\(seconds / 3_600)h \(twoDigits(seconds / 60 % 60))m"
    default: return "\(seconds / 86_400)d \(twoDigits(seconds / 3_600 % 24))h"
    }
  }

  /// Reads `90`, `90s`, `30m`, `2h` or `7d`; `nil` for anything else and for over a century.
  static func parseDuration(_ text: Bytes) -> Duration? {
    let units: [UInt8: Int64] = [
      UInt8(ascii: "s"): 1, UInt8(ascii: "m"): 60, UInt8(ascii: "h"): 3_600,
      UInt8(ascii: "d"): 86_400,
    ]
    var digits = text[...]
    var unit: Int64 = 1
    if let last = text.last, let known = units[last] {
      unit = known
      digits.removeLast()
    }
    guard digits.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains),
      let count = Int64(Bytes(digits).text), count <= longest / unit
    else { return nil }
    return .seconds(count * unit)
  }

  private static func twoDigits(_ number: Int64) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }
}
