import SerialqSystem

/// The progress of a queue as a bar: `[####!>.....]`.
package struct ProgressBar: Equatable {
  /// The number of finished jobs, including failed ones.
  package var over = 0
  package var failed = 0
  package var running = 0
  package var waiting = 0

  package static let empty = ProgressBar()

  /// The progress of two queues together.
  package static func + (one: ProgressBar, other: ProgressBar) -> ProgressBar {
    ProgressBar(
      over: one.over + other.over, failed: one.failed + other.failed,
      running: one.running + other.running, waiting: one.waiting + other.waiting)
  }

  package var total: Int { over + running + waiting }

  /// The bar, `cells` wide plus brackets: `#` finished, `!` failed, `>` running, `.` waiting.
  ///
  /// Readable without color. ASCII only: no terminal draws it wider than expected.
  func line(cells: Int) -> StyledLine {
    let filled = total == 0 ? 0 : cells * over / total
    // A failure is always visible, however small its share.
    let bad = failed == 0 || filled == 0 ? 0 : max(1, filled * failed / over)
    let head = running > 0 ? min(1, cells - filled) : 0
    var line = StyledLine("[")
    func append(_ sign: String, _ count: Int, _ color: Color) {
      if count > 0 { line.append(String(repeating: sign, count: count), color) }
    }
    append("#", filled - bad, .green)
    append("!", bad, .red)
    append(">", head, .bold)
    append(".", cells - filled - head, .dim)
    line.append("]")
    return line
  }

  /// The progress as a bar, if `columns` is set, and in words.
  package func summary(left: Duration?, in columns: Int?) -> StyledLine {
    var summary = StyledLine()
    if let columns { summary = line(cells: min(30, max(5, columns / 4))) + StyledLine(" ") }
    summary.append("\(over) of \(total) done")
    if failed > 0 {
      summary.append(", ")
      summary.append("\(failed) failed", .red)
    }
    if let left { summary.append(", about \(Humanize.about(left)) left") }
    return summary
  }
}
