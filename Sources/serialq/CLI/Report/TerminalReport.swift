import SerialqQueue
import SerialqSystem
import SerialqWatch

/// The timeline of a queue as lines of a terminal.
///
/// ASCII except for user text, with a different sign for each state: readable without color.
struct TerminalReport {
  let report: QueueReport
  /// The maximum width of a line.
  let columns: Int

  private var rows: [Timeline.Row] { report.timeline.rows }
  private var scale: TimeScale { report.timeline.scale }

  var lines: [StyledLine] {
    guard report.jobs > 0 else { return [StyledLine("Queue \(report.queue) is empty.")] }
    let blocks = [heading, chart, legend]
    return Array(blocks.joined(separator: [StyledLine()])).map { $0.fitted(to: columns) }
  }

  private var heading: [StyledLine] {
    let mood: Color? = report.failures > 0 ? .red : nil
    var lines = [StyledLine("Queue \(report.queue): ") + StyledLine(report.headline, mood)]
    if let text = report.periodText { lines.append(StyledLine(text)) }
    if let text = report.pauseText { lines.append(StyledLine(text, .yellow)) }
    lines.append(StyledLine(report.orderText, .dim))
    if let text = report.earlierText { lines.append(StyledLine(text, .dim)) }
    return lines
  }

  // MARK: The chart

  /// The widths of the columns.
  private struct Widths {
    var id: Int
    var time: Int
    /// 0 on a narrow terminal.
    var title: Int
    var chart: Int
  }

  private var widths: Widths {
    let id = rows.map { "\($0.job.id)".count }.max() ?? 1
    let time = rows.map { $0.time.count }.max() ?? 0
    let left = columns - id - 2 - (time + 2) - 2
    let longest = rows.map { DisplayWidth.of($0.job.title) }.max() ?? 0
    // The chart alone, unless both fit legibly.
    let title = left < 30 ? 0 : min(longest, left * 2 / 5)
    return Widths(
      id: id, time: time, title: title, chart: max(1, left - (title > 0 ? title + 2 : 0)))
  }

  private var chart: [StyledLine] {
    let widths = widths
    let cuts = Set(scale.cuts.map { column($0.from, widths.chart) })
    let indent = widths.id + 2 + widths.time + 2 + 2 + (widths.title > 0 ? widths.title + 2 : 0)
    var lines = rows.map { line($0, widths, cuts) }
    if let (start, end) = report.axisTexts, start.count + 1 + end.count <= widths.chart {
      let axis = start + end.padded(to: widths.chart - start.count, isRight: true)
      lines.insert(StyledLine(String(repeating: " ", count: indent) + axis, .dim), at: 0)
    }
    if let text = report.laterText { lines.append(StyledLine(text, .dim)) }
    return lines
  }

  private func line(_ row: Timeline.Row, _ widths: Widths, _ cuts: Set<Int>) -> StyledLine {
    let job = row.job
    var line = StyledLine("\(job.id)".padded(to: widths.id, isRight: true) + " ")
    line.append(job.state.sign, job.state.color)
    var words = "  " + row.time.padded(to: widths.time, isRight: true) + "  "
    if widths.title > 0 {
      words += job.title.cut(to: widths.title).padded(to: widths.title) + "  "
    }
    let bars = bars(row, widths.chart, cuts)
    // No line ends in spaces.
    if bars.width == 0 { while words.last == " " { words.removeLast() } }
    line.append(words)
    return line + bars
  }

  /// The chart of a job: the signs of its attempts, drawn to scale.
  private func bars(_ row: Timeline.Row, _ width: Int, _ cuts: Set<Int>) -> StyledLine {
    var cells = [JobState?](repeating: nil, count: width)
    for bar in row.bars {
      let from = column(bar.from, width)
      // An attempt is at least one cell wide.
      let to = max(from, Int((bar.to * Double(width)).rounded(.up)) - 1)
      for cell in from...min(width - 1, to) { cells[cell] = bar.attempt.state }
    }
    let last = cells.indices.last { cells[$0] != nil || cuts.contains($0) } ?? -1
    var line = StyledLine()
    var cell = 0
    while cell <= last {
      // Equal cells form one span: a span per cell adds ten bytes of color codes each.
      let (state, isCut) = (cells[cell], cuts.contains(cell))
      var end = cell + 1
      while end <= last, cells[end] == state, cuts.contains(end) == isCut { end += 1 }
      let sign = state?.sign ?? (isCut ? ":" : " ")
      line.append(
        String(repeating: sign, count: end - cell), state?.color ?? (isCut ? .dim : nil))
      cell = end
    }
    return line
  }

  private func column(_ place: Double, _ width: Int) -> Int {
    min(width - 1, Int(place * Double(width)))
  }

  // MARK: Legend

  /// Explains the signs and counts the jobs of each state.
  private var legend: [StyledLine] {
    let counts = Dictionary(uniqueKeysWithValues: report.counts.map { ($0.state, $0.count) })
    let states = JobState.allCases.filter { state in
      counts[state] != nil || report.timeline.states.contains(state)
    }
    var lines = [StyledLine()]
    for state in states {
      let entry =
        StyledLine("\(state.sign) ", state.color)
        + StyledLine(counts[state].map { "\($0) \(state.name)" } ?? "\(state.name) before a retry")
      let line = lines[lines.count - 1]
      if line.width == 0 {
        lines[lines.count - 1] = entry
      } else if line.width + 3 + entry.width <= columns {
        lines[lines.count - 1] = line + StyledLine("   ") + entry
      } else {
        lines.append(entry)
      }
    }
    return lines + [report.cutText.map { StyledLine(": \($0)") }].compactMap(\.self)
  }
}

extension JobState {
  /// An ASCII character, different for each state.
  var sign: String {
    switch self {
    case .waiting: "."
    case .running: ">"
    case .succeeded: "#"
    case .failed: "!"
    case .killed: "K"
    case .timedOut: "T"
    case .interrupted: "?"
    case .cancelled: "c"
    case .skipped: "-"
    }
  }
}
