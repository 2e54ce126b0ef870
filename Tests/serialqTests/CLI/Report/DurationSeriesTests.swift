import Testing

@testable import SerialqCLI

@Suite struct DurationSeriesTests {
  // Fails if jobs are grouped by anything else, or a job that ran once is a series.
  @Test("jobs are grouped by label, or by command if they have no label")
  func groups() {
    var history = History()
    var start = 0.0
    for (line, label, length) in [
      ("a", "x", 9.0), ("b", "x", 3), ("same", nil, 4), ("same", nil, 2), ("once", nil, 99),
      ("same", "once", 99), ("c", "x", 6), ("x", nil, 50),
    ] as [(String, String?, Double)] {
      history.run(history.add(line, label: label), at: start, for: length)
      start += 100
    }
    let series = history.report().series
    #expect(series.map(\.title) == ["x", "same"])
    #expect(series[0].points.map(\.duration) == [.seconds(9), .seconds(3), .seconds(6)])
    #expect(series[0].shortest == .seconds(3) && series[0].longest == .seconds(9))
    #expect(series[0].median == .seconds(6) && series[0].count == 3)
  }

  // Fails if runs are sorted by id, or an unknown or unfinished duration is drawn.
  @Test("runs are in order of execution, and only those with a known duration are drawn")
  func runs() {
    var history = History()
    for start in [20.0, 10, 0] { history.job(at: start, for: start + 1, label: "x") }
    history.start(history.add(label: "x"), at: 30)
    let lost = history.add(label: "x")
    history.start(lost, at: 40)
    history.take(.interrupted(id: lost, at: History.moment(90)))
    history.add(label: "x")
    #expect(history.report().series.map { $0.points.map(\.job) } == [[3, 2, 1]])
  }
}
