import SerialqSystem
import TestSupport
import Testing

/// The page of `serialq report` in a real browser: Chromium, headless.
@Suite(.beside, .serialized, .needs(.chromium)) final class ReportPageTests: SceneSuite {
  /// Makes Chromium open a page in a window of this width.
  private func chromium(_ words: [String], width: Int = 1_200) throws -> Outcome {
    let program = try #require(Tool.chromium.path())
    let fixed = [
      program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
      "--hide-scrollbars", "--user-data-dir=\(scene.path("profile").text)",
      "--window-size=\(width),1600",
    ]
    return try scene.launch(fixed + words).wait()
  }

  /// A queue that is hard to show: a script, an end tag, a long word, and every kind of ending.
  private func fill() throws {
    let long = String(repeating: "x", count: 300)
    try scene.add(
      "true", "echo '</pre><script>document.title = \"run\"</script>\(long)'; exit 3",
      ": '<script>document.title = \"run\"</script>\(long)'", "kill -9 $$", "sleep 30")
    #expect(try scene.serialq("cancel", "5").code == 0)
    #expect(try scene.serialq("run", "-n", "<i>\(long)", "false").code == 1)
    try scene.add("echo waits")
    #expect(try scene.serialq("report", "--html", "page.html").code == 0)
  }

  // Fails if text breaks the markup, or a script in a job's output runs.
  @Test("a browser shows a row for each job, and a job's output is text")
  func rows() throws {
    try fill()
    let outcome = try chromium(["--dump-dom", "file://\(scene.path("page.html").text)"])
    #expect(outcome.code == 0, "\(outcome.errorText)")
    let shown = outcome.text
    #expect(shown.split(separator: "<td class=\"id\">").count == 8)
    #expect(shown.split(separator: "<article ").count == 4)
    #expect(shown.contains("<title>serialq: default: 7 jobs, 3 failed, 1 cancelled</title>"))
    #expect(!shown.contains("<script") && shown.contains("&lt;script&gt;document.title"))
  }

  // Fails if an element is wider than a phone: the page would scroll horizontally; or if a band of
  // idle time is higher than the head of the table.
  @Test("nothing is wider than the window, on a phone and on a screen, and no band leaves the head")
  func fits() throws {
    try fill()
    // Long before or after the others.
    try scene.write(.add(8), .start(8), .end(8))
    #expect(try scene.serialq("report", "--html", "page.html").code == 0)
    // The page has no script, so the outer page measures it.
    let outer = """
      <script>
      onload = () => {
        for (const frame of document.querySelectorAll("iframe")) {
          const page = frame.contentDocument;
          const bars = page.querySelectorAll(".chart rect.failed, .chart rect.succeeded");
          const head = page.querySelector("thead").getBoundingClientRect();
          const bands = [...page.querySelectorAll("th .cut, th .tooltip")].filter((band) => {
            const { top, bottom } = band.getBoundingClientRect();
            return top >= head.top && bottom <= head.bottom;
          });
          document.body.append(
            ` ${frame.width}: ${page.documentElement.scrollWidth} ${bars.length} ${bands.length};`);
        }
      };
      </script>
      <body>
      """
    let widths = [320, 390, 800, 1_200]
    let frames = widths.map { #"<iframe src="page.html" width="\#($0)" height="800"></iframe>"# }
    try write(Bytes((outer + frames.joined()).utf8), to: scene.path("outer.html"))
    let page = "file://\(scene.path("outer.html").text)"
    let outcome = try chromium(
      ["--allow-file-access-from-files", "--virtual-time-budget=5000", "--dump-dom", page])
    // Three jobs succeeded and two failed; the outline of the bands, and one of them.
    let measured = widths.map { " \($0): \($0) 5 2;" }.joined()
    #expect(outcome.text.contains(measured), "\(outcome.text.suffix(300))")
  }

  // Fails if nothing is drawn, or the dark scheme looks the same.
  @Test("a browser renders the page, differently in the dark scheme, and prints it")
  func pictures() throws {
    try fill()
    let page = "file://\(scene.path("page.html").text)"
    var pictures: [Bytes] = []
    for (name, words) in [
      ("light.png", []), ("dark.png", ["--blink-settings=preferredColorScheme=0"]),
    ] {
      let outcome = try chromium(words + ["--screenshot=\(scene.path(name).text)", page])
      #expect(outcome.code == 0, "\(outcome.errorText)")
      let picture = try content(scene.path(name))
      #expect(picture.starts(with: [0x89] + Bytes("PNG")) && picture.count > 20_000)
      pictures.append(picture)
    }
    #expect(pictures[0] != pictures[1])
    let printed = try chromium(["--print-to-pdf=\(scene.path("page.pdf").text)", page])
    #expect(printed.code == 0, "\(printed.errorText)")
    #expect(try content(scene.path("page.pdf")).starts(with: Bytes("%PDF")))
  }
}
