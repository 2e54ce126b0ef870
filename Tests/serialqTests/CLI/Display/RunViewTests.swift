@testable import SerialqSystem
@testable import SerialqWatch
import Testing

@testable import SerialqCLI

@Suite struct RunViewTests {
  private func view(_ title: String, output: String? = nil) -> RunView {
    RunView(
      running: [.init(id: 12, title: title, elapsed: .milliseconds(65_400), output: output)],
      bar: ProgressBar(over: 5, failed: 1, running: 1, waiting: 14), left: .seconds(1_190))
  }

  private func text(_ view: RunView, _ columns: Int, rows: Int = 24) -> [String] {
    let lines = view.lines(in: TerminalWindow(columns: columns, rows: rows))
    for line in lines { #expect(line.width < max(2, columns)) }
    return lines.map { $0.rendered(color: false) }
  }

  // Fails if a long part pushes another out of the line, at any of these widths.
  @Test("a long command is cut, and its time and the progress stay")
  func long() {
    let view = view(
      "video: ffmpeg -i holiday.mov -vf scale=1280:-2 -c:v libx264 -crf 23 out.mp4",
      output: "frame= 1042 fps= 57 q=28.0 size=    4608kB time=00:00:41.60")
    #expect(
      text(view, 80) == [
        "| frame= 1042 fps= 57 q=28.0 size=    4608kB time=00:00:41.60",
        "[12] video: ffmpeg -i holiday.mov -vf scale=1280:-2 -c:v libx264 -crf …  1m 05s",
        "[###!>..............] 5 of 20 done, 1 failed, about 20m left",
      ])
    #expect(
      text(view, 40) == [
        "| frame= 1042 fps= 57 q=28.0 size=    …",
        "[12] video: ffmpeg -i holiday.…  1m 05s",
        "[#!>......] 5 of 20 done, 1 failed, ab…",
      ])
    #expect(
      text(view, 20) == [
        "| frame= 1042 fps=…", "[12] video…  1m 05s", "[!>...] 5 of 20 do…",
      ])
  }

  // Fails if the position of the cut changes as the seconds grow.
  @Test("a growing time does not move other text")
  func steady() {
    let times: [(Duration, String)] = [
      (.zero, "     0s"), (.seconds(10), "    10s"), (.seconds(3_599), "59m 59s"),
      (.seconds(86_399), "23h 59m"),
    ]
    for (elapsed, shown) in times {
      var view = view(String(repeating: "x", count: 100))
      view.running[0].elapsed = elapsed
      let cut = String(repeating: "x", count: 25) + "… "
      #expect(text(view, 40)[0] == "[12] " + cut + shown)
    }
  }

  // Fails if more rows are drawn than fit: the cursor could not return to the first.
  @Test("a small terminal shows the last lines, and keeps one row for the cursor")
  func low() {
    var view = view("make", output: "x")
    view.note = "Stopping"
    #expect(text(view, 80, rows: 5).count == 4)
    #expect(text(view, 80, rows: 3).first == "Stopping")
    #expect(text(view, 80, rows: 2).count == 1)
    #expect(text(view, 80, rows: 1).count == 1)
    #expect(text(view, 1).allSatisfy { $0.isEmpty || $0 == "…" })
  }

  // Fails if a time is made up, or an empty line is drawn for a missing job.
  @Test("unknown values are not shown")
  func unknown() {
    let view = RunView(bar: ProgressBar(over: 0, failed: 0, running: 0, waiting: 2))
    #expect(text(view, 80) == ["[...................] 0 of 2 done"])
  }
}
