import SerialqSystem

/// The status of one queue, or of all queues, each below its name.
struct StatusPage: Equatable {
  /// Whether the names are shown; without them there is one report.
  var namesQueues = false
  /// Of queues with jobs, or the only one.
  var reports: [StatusReport] = []
  /// Why other queues cannot be read.
  var faults: [String] = []

  /// The lines at full length; see ``StatusReport``.
  func lines(_ detail: StatusReport.Detail = .init(), columns: Int? = nil) -> [StyledLine] {
    guard namesQueues else { return reports.flatMap { $0.lines(detail, columns: columns) } }
    if reports.isEmpty, faults.isEmpty { return [StyledLine("No queue has jobs.")] }
    let blocks =
      [faults.map { StyledLine($0, .red) }]
      + reports.map { report in
        [StyledLine("==> queue \(report.queue) <==", .bold)]
          + report.lines(detail, columns: columns)
      }
    return Array(blocks.filter { !$0.isEmpty }.joined(separator: [StyledLine()]))
  }

  /// The lines for a live display: narrower than the terminal, with as much detail as fits its
  /// rows.
  func lines(in window: TerminalWindow) -> [StyledLine] {
    let columns = max(1, window.columns - 1)
    let rows = max(1, window.rows - 1)
    var lines: [StyledLine] = []
    for detail in StatusReport.Detail.all {
      lines = self.lines(detail, columns: columns)
      if lines.count <= rows { break }
    }
    return lines.prefix(rows).map { $0.fitted(to: columns) }
  }

  /// The suggested commands.
  var advice: [StyledLine] { reports.flatMap(\.advice) }

  /// How often a displayed duration changes; nil if there is none.
  var interval: Duration? { reports.compactMap(\.interval).min() }
}
