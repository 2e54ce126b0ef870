/// The moment in the local time zone, for people; programs get ``Timestamp/rfc3339``.
extension Timestamp {
  /// The date: `2026-11-21`.
  package var day: String {
    let time = local
    return [
      String(time.tm_year + 1900, digits: 4), String(time.tm_mon + 1, digits: 2),
      String(time.tm_mday, digits: 2),
    ].joined(separator: "-")
  }

  /// The time of day: `10:00:00`.
  package var time: String {
    let time = local
    return [time.tm_hour, time.tm_min, time.tm_sec].map { String($0, digits: 2) }
      .joined(separator: ":")
  }

  /// The abbreviation of the time zone: `UTC`, `CEST`.
  package var zone: String {
    // The zone's name belongs to the C library, which never frees it.
    guard let name = local.tm_zone else { return "UTC" }
    return Visible.text(Bytes(String(cString: name).utf8))
  }

  /// The local time by `localtime_r(3)`, which reads TZ.
  private var local: tm {
    // Rounded down, also before 1970.
    var seconds = time_t((microseconds - (microseconds < 0 ? 999_999 : 0)) / 1_000_000)
    var time = tm()
    localtime_r(&seconds, &time)
    return time
  }
}
