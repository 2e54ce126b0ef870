import SerialqQueue
import SerialqSystem

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
    // The widths of a desktop and a phone screen, in characters.
    let (wide, narrow) = (scale.ticks(columns: 80), scale.ticks(columns: 44))
    return """
      <svg width="100%" height="24" role="img" aria-label="local times">
      <g id="behind"><g class="wide">\(lines(wide))</g><g class="narrow">\(lines(narrow))</g>\
      <svg width="100%" height="100%" viewBox="0 0 10000 1" preserveAspectRatio="none" \
      aria-hidden="true"><path class="cut" d="\(outlines)"/></svg></g>\(cuts)
      <g class="wide">\(labels(wide))</g><g class="narrow">\(labels(narrow))</g>
      </svg>
      """
  }

  private func lines(_ ticks: [TimeScale.Tick]) -> [HTML] {
    ticks.map { tick in
      "<line class=\"grid\" x1=\"\(percent: tick.place)\" x2=\"\(percent: tick.place)\" y2=\"100%\"/>"
    }
  }

  private func labels(_ ticks: [TimeScale.Tick]) -> [HTML] {
    ticks.map { tick in
      "<text x=\"\(percent: tick.place)\" dx=\"3\" y=\"15\">\(tick.label)</text>"
    }
  }

  private func row(_ row: Timeline.Row) -> HTML {
    let job = row.job
    let isExplained = report.troubles.contains { $0.job.id == job.id }
    let id: HTML = isExplained ? "<a href=\"#job-\(job.id)\">\(job.id)</a>" : "\(job.id)"
    let title = cut(job.title, to: 200)
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

  // MARK: Durations

  private static let mostSeries = 24
  /// The height of the columns, and the space above them for a mark.
  private static let height = 72
  private static let headroom = 14

  var durations: HTML {
    guard !report.series.isEmpty else { return "" }
    let figures: [HTML] = report.series.prefix(Self.mostSeries).map(figure)
    let more = report.series.count - figures.count
    let rest: HTML = more > 0 ? "<p class=\"soft\">\(more) more labels are not drawn.</p>" : ""
    return """
      <section>
      <h2>Durations</h2>
      <p class="soft">Jobs that ran more than once, by label or else by command; runs in order \
      from left to right, the median as a line.</p>
      <div class="figures">
      \(figures)
      </div>
      \(rest)
      </section>
      """
  }

  private func figure(_ series: DurationSeries) -> HTML {
    let longest = series.points.map(\.duration).max() ?? .zero
    func height(_ duration: Duration) -> Int {
      longest == .zero ? 1 : max(1, Int(duration / longest * Double(Self.height)))
    }
    let slot = 1 / Double(max(series.points.count, 12))
    let columns: [HTML] = series.points.enumerated().map { index, point in
      column(point, at: Double(index) * slot, slot, height(point.duration))
    }
    let middle = Self.headroom + Self.height - height(min(longest, series.median))
    let counted =
      series.count > series.points.count
      ? "\(series.count) runs, the latest \(series.points.count) drawn" : "\(series.count) runs"
    let label = "\(counted), the latest took \(series.points.last.map { text($0.duration) } ?? "")"
    return """
      <figure>
      <figcaption><h3><bdi>\(cut(series.title, to: 200))</bdi></h3>
      <p>\(counted)</p></figcaption>
      <svg width="100%" height="\(Self.headroom + Self.height)" role="img" aria-label="\(label)">
      \(columns)
      <line class="median" x2="100%" y1="\(middle)" y2="\(middle)"/>
      </svg>
      <p>median <strong>\(text(series.median))</strong>, \(text(series.shortest)) to \
      \(text(series.longest))</p>
      </figure>
      """
  }

  private func column(
    _ point: DurationSeries.Point, at place: Double, _ slot: Double, _ height: Int
  ) -> HTML {
    let top = Self.headroom + Self.height - height
    let state = point.attempt.state
    let mark: HTML =
      state == .succeeded
      ? "" : "<text class=\"mark\" x=\"\(percent: place + slot / 2)\" y=\"\(top - 4)\">×</text>"
    return """
      <rect class="\(state.name)" x="\(percent: place + slot * 0.12)" y="\(top)" \
      width="\(percent: slot * 0.76)" height="\(height)"><title>job \(point.job), \
      \(describe(point.attempt))</title></rect>\(mark)
      """
  }

  private func text(_ duration: Duration) -> String { Humanize.duration(duration) }
}
