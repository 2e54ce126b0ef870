/// A moment in UTC, in microseconds: the precision of the journal, so that a round trip is exact.
///
/// From the year 0 to 9999, the range of a four-digit year, so that no difference overflows.
package struct Timestamp: Equatable, Comparable, Sendable {
  /// Microseconds since 1970, without leap seconds.
  package let microseconds: Int64

  /// A moment outside the range becomes its nearest end.
  package init(microseconds: Int64) {
    self.microseconds = min(max(microseconds, -62_167_219_200_000_000), 253_402_300_799_999_999)
  }

  init(_ time: timespec) {
    // A file can have any date.
    let seconds = min(max(Int64(time.tv_sec), -1 << 40), 1 << 40)
    self.init(microseconds: seconds * 1_000_000 + Int64(time.tv_nsec) / 1_000)
  }

  package static let epoch = Timestamp(microseconds: 0)

  package static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.microseconds < right.microseconds
  }

  /// The nanoseconds since an earlier moment, within ``Clock/valid``; 0 if it is later.
  package func nanoseconds(since other: Timestamp) -> Int64 {
    let most = Int64(Clock.valid.upperBound)
    return min(max(0, microseconds - other.microseconds), most / 1_000) * 1_000
  }

  private static let dayLength: Int64 = 86_400_000_000

  /// RFC 3339 in 27 bytes: `2026-11-21T10:00:00.123456Z`.
  ///
  /// Uses the Gregorian rule instead of `gmtime_r`: it cannot fail and is the exact inverse of the
  /// parser.
  package var rfc3339: Bytes {
    var day = microseconds / Timestamp.dayLength
    var rest = microseconds % Timestamp.dayLength
    if rest < 0 {
      day -= 1
      rest += Timestamp.dayLength
    }
    let date = CivilDate(daysSince1970: day)
    var text: Bytes = []
    text.reserveCapacity(27)
    func append(_ value: Int64, _ digits: Int, _ separator: Unicode.Scalar) {
      var divisor: Int64 = 1
      for _ in 1..<digits { divisor *= 10 }
      while divisor > 0 {
        text.append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
        divisor /= 10
      }
      text.append(UInt8(ascii: separator))
    }
    append(date.year, 4, "-")
    append(date.month, 2, "-")
    append(date.day, 2, "T")
    append(rest / 3_600_000_000, 2, ":")
    append(rest / 60_000_000 % 60, 2, ":")
    append(rest / 1_000_000 % 60, 2, ".")
    append(rest % 1_000_000, 6, "Z")
    return text
  }

  /// Parses the output of ``rfc3339`` and nothing else; rejects dates that do not exist.
  package init?(rfc3339 text: UnsafeBufferPointer<UInt8>) {
    guard text.count == 27 else { return nil }
    var good = true
    func number(_ start: Int, _ digits: Int, _ separator: Unicode.Scalar) -> Int64 {
      var value: Int64 = 0
      for index in start..<start + digits {
        let digit = text[index] &- UInt8(ascii: "0")
        good = good && digit < 10
        value = value * 10 + Int64(digit)
      }
      good = good && text[start + digits] == UInt8(ascii: separator)
      return value
    }
    let date = CivilDate(
      year: number(0, 4, "-"), month: number(5, 2, "-"), day: number(8, 2, "T"))
    let hour = number(11, 2, ":")
    let minute = number(14, 2, ":")
    let second = number(17, 2, ".")
    let fraction = number(20, 6, "Z")
    guard good, hour < 24, minute < 60, second < 60, 1...12 ~= date.month else { return nil }
    let days = date.daysSince1970
    // The conversion back gives a different date for February 30.
    guard CivilDate(daysSince1970: days) == date else { return nil }
    microseconds =
      days * Timestamp.dayLength + ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction
  }
}

/// A Gregorian date and its day number since 1970.
///
/// Counts years from March, so that the leap day comes last. 400 years always have 146,097 days.
private struct CivilDate: Equatable {
  var year: Int64
  var month: Int64
  var day: Int64
}

extension CivilDate {
  init(daysSince1970 days: Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  var daysSince1970: Int64 {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}
