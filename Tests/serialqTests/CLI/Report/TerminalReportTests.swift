import SerialqSystem
import Testing

@testable import SerialqCLI
@testable import SerialqQueue

@Suite struct TerminalReportTests {
  private func text(_ history: History, columns: Int = 80, last: Int = 50) -> String {
    let report = TerminalReport(report: history.report(last: last), columns: columns)
    return report.lines.map { $0.rendered(color: false) + "\n" }.joined()
  }

  // Fails if any part is drawn in another place or form.
  @Test("each state has a sign, an attempt is drawn to scale, and a cut gap is a mark")
  func everything() {
    #expect(
      text(.everything) == """
        Queue default: 17 jobs, 4 failed, 1 cancelled
        2027-01-15 08:00:00 to 10:31:00 UTC, 3m 20s of run time
        Sorted by id, then waiting jobs in the order in which they will run.

                                   2027-01-15 08:00:00                          10:31:00
         1 #  1m 00s  build: true  ###############       :              :
         2 !     30s  build: true                !!!!!!!!!              :
         3 K     20s  train: true                        KKKKKK         :
         4 T     40s  train: true                        :    TTTTTTTTTTT
         5 ?          train: true                        :              ?
         6 c     10s  fetch: true                        :              :cccc
         7 -          fetch: true                        :              :
         8 #     15s  fetch: true                        :              :   !#####
         9 >     20s  sleep 1d                           :              :          >>>>>
        10 .          echo 1                             :              :
        11 .          echo 2                             :              :
        12 .          echo 3                             :              :
        13 .          echo 4                             :              :
        14 .          echo 5                             :              :
        3 more waiting.

        . 8 waiting   > 1 running   # 2 succeeded   ! 1 failed   K 1 killed
        T 1 timed-out   ? 1 interrupted   c 1 cancelled   - 1 skipped
        : 2 idle periods, cut out: 2h 27m in total, longest 1h 27m

        """)
  }

  // Fails if a line is wider than the terminal, at any width or with long text.
  @Test("no line is wider than the terminal", arguments: 1...130)
  func widths(columns: Int) {
    var history = History.everything
    history.run(
      history.add("翻訳する 日本語ドキュメント.md --出力 ./結果/日本語 " + String(repeating: "x", count: 300)),
      at: 9_100,
      for: 3)
    for line in TerminalReport(report: history.report(), columns: columns).lines {
      #expect(line.width <= columns, "\(line.rendered(color: false))")
      #expect(line.rendered(color: false).last != " ")
    }
  }

  // Fails if each column is colored separately: a line would be ten times as long.
  @Test("adjacent equal cells of a bar are colored once")
  func colors() throws {
    var history = History()
    history.job(at: 0, for: 10)
    history.job(at: 900, for: 10, .exited(1))
    let lines = TerminalReport(report: history.report(), columns: 60).lines
    let bar = try #require(lines.first { $0.rendered(color: false).hasPrefix("2 !") })
    let pattern = /true  +\e\[2m:\e\[0m\e\[31m!+\e\[0m/
    #expect(bar.rendered(color: true).contains(pattern), "\(bar)")
  }

  // Fails if the headline depends on anything but failures.
  @Test("the headline of a queue with a failure is red", arguments: [0, 1, 2])
  func headline(failures: Int) throws {
    var history = History()
    for number in 0..<3 {
      history.job(at: Double(number), for: 1, .exited(number < failures ? 1 : 0))
    }
    let report = TerminalReport(report: history.report(), columns: 80)
    let line = try #require(report.lines.first).rendered(color: true)
    #expect(line.contains("\u{1B}[31m") == (failures > 0), "\(line)")
  }

  // Fails if two states have the same sign: without color they could not be distinguished.
  @Test("the signs of any two states differ, and none is the sign of a cut")
  func signs() {
    let signs = JobState.allCases.map(\.sign) + [":", " "]
    #expect(Set(signs).count == signs.count)
    #expect(signs.allSatisfy { $0.utf8.count == 1 })
  }

  // Fails if an omission is not reported, or an empty queue is drawn.
  @Test("an empty, a paused and a long queue are reported as such")
  func words() {
    #expect(text(History()) == "Queue default is empty.\n")
    var history = History()
    for number in 0..<60 { history.job(at: Double(number), for: 1) }
    history.take(.set { $0.pause = QueueProperties.Pause(at: History.moment(70)) })
    let lines = text(history, last: 50).split(separator: "\n")
    #expect(lines.contains("10 earlier jobs are not drawn; --last N draws more."))
    #expect(lines.contains("Paused since 2027-01-15 08:01:10 UTC: no job is started."))
    #expect(lines.count { $0.contains(" #  ") } == 50)
  }
}
