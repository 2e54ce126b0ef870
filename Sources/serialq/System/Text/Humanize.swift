/// Formats and parses durations for display.
package enum Humanize {
  /// A century: longer than any real timeout, and cannot overflow when added to a date.
  private static let longest: Int64 = 100 * 365 * 86_400

  /// Formats `0.3s`, `12s`, `4m 05s`, `2h 03m` or `3d 04h`.
  ///
  /// Truncates instead of rounding, so that a job is never shown to have run longer than it did. A
  /// negative duration, after the clock was set back, is `0.0s`.
  package static func duration(_ duration: Duration) -> String {
    let (seconds, attoseconds) = max(.zero, duration).components
    switch seconds {
    case ..<10: return "\(seconds).\(attoseconds / 100_000_000_000_000_000)s"
    case ..<60: return "\(seconds)s"
    case ..<3_600: return "\(seconds / 60)m \(String(seconds % 60, digits: 2))s"
    case ..<86_400: return "\(seconds / 3_600)h \(String(seconds / 60 % 60, digits: 2))m"
    default: return "\(seconds / 86_400)d \(String(seconds / 3_600 % 24, digits: 2))h"
    }
  }

  /// Formats a running time without tenths: `9s`, not `9.4s`; otherwise as ``duration(_:)``.
  package static func seconds(_ duration: Duration) -> String {
    let seconds = max(.zero, duration).components.seconds
    return seconds < 10 ? "\(seconds)s" : Self.duration(.seconds(seconds))
  }

  /// Formats an age: `just now`, `5m ago`, `2h 03m ago` or `3d 04h ago`.
  package static func age(_ duration: Duration) -> String {
    let seconds = duration.components.seconds
    if seconds < 60 { return "just now" }
    return (seconds < 3_600 ? "\(seconds / 60)m" : Self.duration(duration)) + " ago"
  }

  /// Formats a date: `2026-11-21 10:00:00 UTC`.
  package static func moment(_ moment: Timestamp) -> String { "\(moment.day) \(moment.time) UTC" }

  /// The time until a growing duration reaches the next multiple of `seconds`.
  package static func rest(of seconds: Int64, after duration: Duration) -> Duration {
    let (whole, attoseconds) = max(.zero, duration).components
    return .seconds(seconds - whole % seconds)
      - Duration(secondsComponent: 0, attosecondsComponent: attoseconds)
  }

  /// The time until a shrinking duration loses a full second.
  package static func untilLess(than duration: Duration) -> Duration {
    Duration(secondsComponent: 0, attosecondsComponent: duration.components.attoseconds)
      + .milliseconds(1)
  }

  /// Formats an estimate, rounded up to its precision: `20s`, `5m`, `2h 10m` or `3d 04h`.
  package static func about(_ duration: Duration) -> String {
    func rounded(_ unit: Int64) -> Int64 {
      (max(1, duration.components.seconds + (duration.components.attoseconds > 0 ? 1 : 0))
        + unit - 1) / unit * unit
    }
    if rounded(10) < 60 { return "\(rounded(10))s" }
    if rounded(60) < 3_600 { return "\(rounded(60) / 60)m" }
    return Self.duration(.seconds(rounded(600)))
  }

  /// Parses `90`, `90s`, `30m`, `2h` or `7d`; `nil` for anything else and above a century.
  package static func parseDuration(_ text: Bytes) -> Duration? {
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
    guard let count = Int64(digits: Bytes(digits)), count <= longest / unit
    else { return nil }
    return .seconds(count * unit)
  }
}
