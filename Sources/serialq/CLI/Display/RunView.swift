import SerialqQueue
import SerialqSystem

/// What `run` shows below the output of the jobs: the running job, and how far the queue has come.
///
///     | 42% of big.iso
///     [3] wget https://example.org/big.iso                              1m 05s
///     [####!>..............] 5 of 20 done, 1 failed, about 20m left
///
/// Pure: from what is known to the lines of a terminal of any size.
struct RunView: Equatable {
  /// The running job.
  struct Running: Equatable {
    var id: JobID
    /// Has to be visible text already, as has `output`.
    var title: String
    var elapsed: Duration?
    /// The line that it has begun to print and not ended: its progress, or a question.
    var output: String?
  }

  var running: Running?
  var bar: ProgressBar
  var left: Duration?
  /// Why nothing goes on, or what is about to happen.
  var note: String?

  func lines(in window: TerminalWindow) -> [StyledLine] {
    // The last column stays free: some terminals break a line that fills it, and some draw the
    // ellipsis wide.
    let columns = max(1, window.columns - 1)
    var lines: [StyledLine] = []
    if let running {
      if let output = running.output { lines.append(StyledLine("| ", .dim) + StyledLine(output)) }
      lines.append(title(of: running, in: columns))
    }
    if let note { lines.append(StyledLine(note, .yellow)) }
    lines.append(bar.summary(left: left, in: columns))
    // One row is the cursor's.
    return lines.suffix(max(1, window.rows - 1)).map { $0.fitted(to: columns) }
  }

  private func title(of job: Running, in columns: Int) -> StyledLine {
    let title = StyledLine("[\(job.id)] ", .cyan) + StyledLine(job.title, .bold)
    guard let elapsed = job.elapsed else { return title }
    // As wide as any, so that the title is not cut anew as the time grows.
    let time = Humanize.seconds(elapsed)
    let padding = String(repeating: " ", count: max(0, 7 - time.count))
    return title.beside(StyledLine(padding + time, .cyan), in: columns)
  }
}

extension ProgressBar {
  /// The bar, on a terminal of so many columns, and the same in words.
  func summary(left: Duration?, in columns: Int?) -> StyledLine {
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
