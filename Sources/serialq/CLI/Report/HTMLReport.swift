import SerialqQueue
import SerialqSystem
import SerialqWatch

/// The report as a self-contained page: no network, scripts or fonts.
struct HTMLReport {
  let report: QueueReport

  var page: String {
    let page: HTML = """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8"/>
      <meta name="viewport" content="width=device-width, initial-scale=1"/>
      <meta name="color-scheme" content="light dark"/>
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src \
      'unsafe-inline'"/>
      <title>serialq: \(report.queue): \(report.headline)</title>
      <style>
      \(HTMLStyle.sheet)
      </style>
      </head>
      <body>
      \(HTMLStyle.patterns)
      <main>
      \(header)
      \(content)
      </main>
      </body>
      </html>

      """
    return page.markup
  }

  private var content: [HTML] {
    guard report.jobs > 0 else {
      return [
        "<p class=\"note\">Add a job: <code>\(advised("add", in: report.queue)) 'make test'</code></p>"
      ]
    }
    return [totals, timeline, failures].filter { !$0.markup.isEmpty }
  }

  private var header: HTML {
    let period: HTML = report.periodText.map { "<p>\($0)</p>\n" } ?? ""
    let note: HTML = report.pauseText.map { "<p class=\"note\">\($0)</p>" } ?? ""
    let mood: HTML = report.failures == 0 ? "calm" : "trouble"
    return """
      <header>
      <h1><span>Queue</span> <bdi>\(report.queue)</bdi></h1>
      <p class="lead \(mood)">\(report.headline)</p>
      \(period)<p class="soft">As of \(moment(report.made)), by serialq \(CommandTable.version)</p>
      \(note)</header>
      """
  }

  // MARK: Totals

  private var totals: HTML {
    let states: [HTML] = report.counts.map { state, count in
      "<div><dt>\(swatch(state)) \(state.name)</dt><dd>\(count)</dd></div>"
    }
    var tiles: [HTML] = ["<div><dt>jobs</dt><dd>\(report.jobs)</dd></div>"] + states
    if let (job, duration) = report.longest {
      tiles.append("<div><dt>run time</dt><dd>\(Humanize.duration(report.work))</dd></div>")
      tiles.append("<div><dt>longest, job \(job)</dt><dd>\(Humanize.duration(duration))</dd></div>")
    }
    if report.retries > 0 {
      tiles.append("<div><dt>retries</dt><dd>\(report.retries)</dd></div>")
    }
    return """
      <section>
      <h2>Totals</h2>
      <dl class="tiles">
      \(tiles)
      </dl>
      </section>
      """
  }

  // MARK: Failures

  private var failures: HTML {
    guard !report.troubles.isEmpty else { return "" }
    let shown = report.troubles.count
    let count =
      shown == report.failures
      ? "" : "The latest \(shown) of \(report.failures), newest first. "
    let articles: [HTML] = report.troubles.map(article)
    return """
      <section>
      <h2>Failures</h2>
      <p class="soft">\(count)The end of each output: at most \(QueueReport.troubleLines) lines or \
      \(QueueReport.troubleBytes / 1_024) KB.</p>
      \(articles)
      </section>
      """
  }

  private func article(_ trouble: QueueReport.Trouble) -> HTML {
    let job = trouble.job
    let lines = HTML(trouble.tail.map { "\($0)" })
    let output: HTML =
      trouble.tail.isEmpty
      ? "<p class=\"soft\">No output.</p>"
      : """
      <pre tabindex="0">\(lines)</pre>
      <p class="soft">Full output: <code>\(advised("log", in: report.queue)) \(job.id)</code></p>
      """
    let ended: HTML = job.ended.map { ", \(moment($0))" } ?? ""
    let attempt = job.attempts > 1 ? ", attempt \(job.attempts)" : ""
    let launch = job.execution?.launch.map { ", by \($0.text)" } ?? ""
    let seen = job.isAcknowledged ? ", acknowledged" : ""
    return """
      <article id="job-\(job.id)">
      <h3><span class="id">\(job.id)</span> <bdi>\(job.title(columns: 1_000))</bdi></h3>
      <p>\(swatch(job.state)) <strong>\(job.outcomeText)</strong>\(ended)\(attempt)\(seen)\(launch)</p>
      \(output)
      </article>
      """
  }

  // MARK: Shared parts

  /// The pattern of a state, always shown next to its name.
  func swatch(_ state: JobState) -> HTML {
    """
    <svg class="swatch" width="16" height="16" aria-hidden="true"><rect class="\(state.name)" x="1" \
    y="1" width="14" height="14" rx="2"/></svg>
    """
  }

  private func moment(_ moment: Timestamp) -> HTML {
    "<time datetime=\"\(moment.rfc3339.text)\">\(Humanize.moment(moment))</time>"
  }
}
