import SerialqQueue
import SerialqSystem
import SerialqWatch

/// The live display of `run` below the output, and of `wait`: the running job and the progress of
/// the queue.
///
///     | 42% of big.iso
///     [3] wget https://example.org/big.iso                              1m 05s
///     [####!>..............] 5 of 20 done, 1 failed, about 20m left
///
/// Pure: formats its properties for a terminal of any size.
struct RunView: Equatable {
  struct Running: Equatable {
    var id: JobID
    /// Only if several queues are shown.
    var queue: String?
    var title: String
    var elapsed: Duration?
    /// The incomplete last line of its output: progress or a prompt.
    var output: String?
    /// What it asks on its terminal, and the command that answers it.
    var question: [String] = []
  }

  var running: [Running] = []
  var bar: ProgressBar
  var left: Duration?
  /// Why the queue does not proceed, or what happens next.
  var note: String?

  func lines(in window: TerminalWindow) -> [StyledLine] {
    // Leaves the last column free: some terminals wrap a line that fills it, and some draw the
    // ellipsis wide.
    let columns = max(1, window.columns - 1)
    var lines: [StyledLine] = []
    for running in running {
      // Shown with the question.
      if let output = running.output, running.question.isEmpty {
        lines.append(StyledLine("| ", .dim) + StyledLine(output))
      }
      lines.append(title(of: running, in: columns))
      lines += running.question.map { StyledLine("  \($0)", .yellow) }
    }
    if let note { lines.append(StyledLine(note, .yellow)) }
    lines.append(bar.summary(left: left, in: columns))
    // One row is left for the cursor.
    return lines.suffix(max(1, window.rows - 1)).map { $0.fitted(to: columns) }
  }

  private func title(of job: Running, in columns: Int) -> StyledLine {
    let title =
      StyledLine("[\(job.queue.map { "\($0) " } ?? "")\(job.id)] ", .cyan)
      + StyledLine(job.title, .bold)
    guard let elapsed = job.elapsed else { return title }
    // Fixed width, so that the title is not truncated differently as the time grows.
    let time = Humanize.seconds(elapsed).padded(to: 7, isRight: true)
    return title.beside(StyledLine(time, .cyan), in: columns)
  }
}

extension Job {
  /// What the job of the queue asks, and the command that answers it; empty if it asks nothing.
  func questionLines(in queue: String) -> [String] {
    guard let question else { return [] }
    return [question.phrase, "Answer it: \(advised("attach", in: queue)) \(id)"]
  }
}
