/// Formats and parses durations for display.
package enum Humanize {
  /// A century: longer than any real timeout, and cannot overflow when added to a date.
  package static let longest: Int64 = 100 * 365 * 86_400

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

  package static let justNow = "just now"

  /// Formats an age: `just now`, `5m ago`, `2h 03m ago` or `3d 04h ago`.
  package static func age(_ duration: Duration) -> String {
    let seconds = duration.components.seconds
    if seconds < 60 { return justNow }
    return (seconds < 3_600 ? "\(seconds / 60)m" : Self.duration(duration)) + " ago"
  }

  /// Formats the age of a moment.
  package static func age(since moment: Timestamp) -> String {
    age(.microseconds(Clock.now().microseconds - moment.microseconds))
  }

  /// Formats a date in the local time zone: `2026-11-21 10:00:00 CET`.
  package static func moment(_ moment: Timestamp) -> String {
    "\(moment.day) \(moment.time) \(moment.zone)"
  }

  /// Formats an estimate, rounded up to its precision: `2s`, `20s`, `5m`, `2h 10m` or `3d 04h`.
  package static func about(_ duration: Duration) -> String {
    func rounded(_ unit: Int64) -> Int64 {
      (max(1, duration.components.seconds + (duration.components.attoseconds > 0 ? 1 : 0))
        + unit - 1) / unit * unit
    }
    for few: Int64 in [1, 2, 5] where rounded(1) <= few { return "\(few)s" }
    if rounded(10) < 60 { return "\(rounded(10))s" }
    if rounded(60) < 3_600 { return "\(rounded(60) / 60)m" }
    return Self.duration(.seconds(rounded(600)))
  }

  /// Parses `90`, `90s`, `1.5h`, `1h30m` or `7d` to seconds; `nil` for anything else.
  ///
  /// More than ``longest`` may be any number above it.
  /// Rounds a fraction up to whole seconds: a time limit must not end a job early. Units descend,
  /// and only the last number has a fraction; a number without a unit stands alone.
  package static func parseDuration(_ text: Bytes) -> Int64? {
    let units: [(letter: UInt8, seconds: Int64)] = [
      (UInt8(ascii: "d"), 86_400), (UInt8(ascii: "h"), 3_600), (UInt8(ascii: "m"), 60),
      (UInt8(ascii: "s"), 1),
    ]
    var rest = text[...]
    var smaller = units[...]
    var sum: Int64 = 0
    repeat {
      let number = Bytes(rest.prefix { !isLetter($0) })
      rest = rest.dropFirst(number.count)
      var unit: Int64 = 1
      if let letter = rest.popFirst() {
        guard let index = smaller.firstIndex(where: { $0.letter == letter }) else { return nil }
        unit = smaller[index].seconds
        smaller = smaller[(index + 1)...]
      } else if smaller.count < units.count {
        return nil
      }
      guard let seconds = seconds(number, of: unit, isLast: rest.isEmpty) else { return nil }
      sum += seconds
    } while !rest.isEmpty
    return sum
  }

  private static let sizes: [(letter: Character, bytes: Int64)] = [
    ("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10),
  ]

  /// Parses a size in bytes: `500`, `512K`, `10M` or `1G`, in powers of 1024; `nil` for anything
  /// else and above a pebibyte.
  package static func parseSize(_ text: Bytes) -> Int64? {
    let unit = sizes.first { $0.letter.asciiValue == text.last }
    let digits = unit == nil ? text : text.dropLast()
    let bytes = unit?.bytes ?? 1
    guard let count = Int64(digits: Bytes(digits)), count <= (1 << 50) / bytes else { return nil }
    return count * bytes
  }

  /// Formats a size as ``parseSize(_:)`` reads it, in the largest unit that divides it.
  package static func size(_ bytes: Int64) -> String {
    let unit = sizes.first { bytes > 0 && bytes % $0.bytes == 0 }
    return unit.map { "\(bytes / $0.bytes)\($0.letter)" } ?? "\(bytes)"
  }

  /// Formats a size, truncated: `512 bytes`, `1.5K` or `12.3M`.
  package static func about(bytes: Int64) -> String {
    guard let unit = sizes.first(where: { bytes >= $0.bytes }) else { return "\(bytes) bytes" }
    return "\(bytes / unit.bytes).\(bytes % unit.bytes * 10 / unit.bytes)\(unit.letter)"
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
  }

  /// The seconds in `90` or, if it is the last number, `1.5` of a unit.
  private static func seconds(_ number: Bytes, of unit: Int64, isLast: Bool) -> Int64? {
    let parts = number.split(
      separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, !first.isEmpty, first.allSatisfy(isDigit) else { return nil }
    // More than a century for a number that is too large, in any unit without overflow.
    let whole = min(Int64(digits: Bytes(first)) ?? .max, longest + 1)
    guard parts.count == 2 else { return whole * unit }
    // Nine digits: more than microseconds of a day, and no overflow.
    let digits = Bytes(parts[1])
    guard isLast, digits.count <= 9, let fraction = Int64(digits: digits) else { return nil }
    let scale = digits.reduce(Int64(1)) { scale, _ in scale * 10 }
    return whole * unit + (fraction * unit + scale - 1) / scale
  }
}
