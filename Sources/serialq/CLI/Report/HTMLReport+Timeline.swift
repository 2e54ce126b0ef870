import SerialqQueue
import SerialqSystem
import SerialqWatch

extension HTMLReport {
  private var scale: TimeScale { report.timeline.scale }

  var timeline: HTML {
    let rows: [HTML] = report.timeline.rows.map(row)
    let notes: [HTML] = [report.earlierText, report.laterText].compactMap { text in
      text.map { "<p class=\"soft\">\($0)</p>" }
    }
    return """
      <section>
      <h2>Timeline</h2>
      <p class="soft">\(report.orderText)</p>
      \(legend)
      <table>
      <thead><tr><th scope="col">Job</th><th scope="col">Command</th><th scope="col">State</th>\
      <th scope="col">Time</th><th scope="col" class="chart">\(axis)</th></tr></thead>
      <tbody>
      \(rows)
      </tbody>
      </table>
      \(notes)
      </section>
      """
  }

  private var legend: HTML {
    var entries: [HTML] = report.timeline.states.map { "<li>\(swatch($0)) \($0.name)</li>" }
    if let text = report.cutText {
      entries.append(
        """
        <li><svg class="swatch" width="16" height="16" aria-hidden="true"><rect class="cut" \
        width="16" height="16"/></svg> \(text)</li>
        """)
    }
    return "<ul class=\"legend\">\(entries)</ul>"
  }

  /// The time labels, and the background that all rows reference.
  private var axis: HTML {
    let cuts: [HTML] = scale.cuts.map { cut in
      """
      <rect class="tooltip" x="\(percent: cut.from)" width="\(percent: cut.to - cut.from)" \
      height="100%"><title>\(Humanize.duration(cut.duration)) idle</title></rect>
      """
    }
    // One path for all cuts: with an element per cut in each row, printing the page takes minutes.
    let outlines = scale.cuts.map { cut in
      let (from, to) = (Int(cut.from * 10_000), Int(cut.to * 10_000))
      return "M\(from) 0H\(max(from + 1, to))V1H\(from)z"
    }.joined()
    let (start, end) = report.axisTexts ?? ("", "")
    return """
      <svg width="100%" height="24" role="img" aria-label="local times">
      <g class="faint"><svg id="behind" width="100%" height="100%" viewBox="0 0 10000 1" \
      preserveAspectRatio="none" aria-hidden="true"><path class="cut" d="\(outlines)"/></svg></g>\(cuts)
      <text y="15">\(start)</text><text x="100%" y="15" text-anchor="end">\(end)</text>
      </svg>
      """
  }

  private func row(_ row: Timeline.Row) -> HTML {
    let job = row.job
    let isExplained = report.troubles.contains { $0.job.id == job.id }
    let id: HTML = isExplained ? "<a href=\"#job-\(job.id)\">\(job.id)</a>" : "\(job.id)"
    let title = job.title
    let bars: [HTML] = row.bars.map(bar)
    let history = row.attempts.map(describe).joined(separator: "; ")
    return """
      <tr><td class="id">\(id)</td><td class="title" title="\(title)"><bdi>\(title)</bdi></td>\
      <td class="state">\(swatch(job.state)) \(job.state.name)</td><td class="time">\(row.time)</td>\
      <td class="chart"><svg width="100%" height="22" role="img" \
      aria-label="\(history.isEmpty ? "not run" : history)"><use href="#behind"/>\(bars)</svg></td></tr>
      """
  }

  private func bar(_ bar: Timeline.Bar) -> HTML {
    // SVG does not draw a zero width; an interrupted attempt has a fixed one, because its duration
    // is unknown.
    let width: HTML =
      bar.attempt.duration == nil ? "8" : "\(percent: max(0.000_5, bar.to - bar.from))"
    return """
      <rect class="\(bar.attempt.state.name)" x="\(percent: bar.from)" y="4" width="\(width)" \
      height="14"><title>\(describe(bar.attempt))</title></rect>
      """
  }

  private func describe(_ attempt: Attempt) -> String {
    let start = "\(attempt.state.name), \(attempt.start.day) \(attempt.start.time)"
    guard let duration = attempt.duration else { return "\(start), duration unknown" }
    return "\(start) to \(attempt.end.time), \(Humanize.duration(duration))"
  }
}
