import SerialqQueue
import SerialqSystem
import Testing

@testable import SerialqCLI

@Suite struct TimelineTests {
  // Fails if only the latest attempt is drawn, or an earlier one is drawn with the job's final
  // state.
  @Test("every attempt at a job is in its row, with its own ending")
  func attempts() throws {
    var history = History()
    let id = history.add()
    history.run(id, at: 0, for: 5, .exited(1))
    history.take(.retry([id]))
    history.run(id, at: 60, for: 7, .killed(15), .timedOut)
    history.take(.retry([id]))
    #expect(history.timeline().rows[0].attempts.map(\.state) == [.failed, .timedOut])
    #expect(history.timeline().rows[0].time == "")
    history.run(id, at: 90, for: 9)
    let row = try #require(history.timeline().rows.first)
    #expect(row.attempts.map(\.state) == [.failed, .timedOut, .succeeded])
    #expect(row.attempts.map(\.duration) == [.seconds(5), .seconds(7), .seconds(9)])
    #expect(row.time == "9.0s")
    #expect(history.report().retries == 2 && history.report().work == .seconds(21))
  }

  // Fails if the time of recovery counts as the end: the real end is unknown.
  @Test("an interrupted job has a start, and no duration")
  func interrupted() {
    var history = History()
    let id = history.add()
    history.start(id, at: 10)
    history.take(.interrupt(id, at: moment(History.moment(80_000))))
    let row = history.timeline().rows[0]
    #expect(row.attempts.map(\.duration) == [nil] && row.time == "")
    #expect(row.bars.map(\.from) == row.bars.map(\.to))
    #expect(history.report().work == .zero && history.report().longest == nil)
  }

  // Fails if a duration is computed from dates although it was measured.
  @Test("a clock change during a job does not affect its drawn duration")
  func clock() {
    var history = History()
    for (id, end) in [(history.add(), -500.0), (history.add(), 9_000)] {
      history.start(id, at: 0)
      history.take(.end(id, duration: 3_000_000_000, at: moment(History.moment(end))))
    }
    #expect(history.timeline().rows.map(\.time) == ["3.0s", "3.0s"])
    #expect(
      history.timeline().scale.ends ?? (.init(microseconds: 0), .init(microseconds: 0)) == (
        History.moment(0), History.moment(3)
      ))
  }

  // Fails if jobs are sorted by their last run, or a running job is left out after the clock was
  // set back.
  @Test("the jobs that ran last are in the order of ids, then waiting jobs in queue order")
  func order() {
    var history = History()
    for start in [0.0, 10, 20] { history.job(at: start, for: 5, .exited(1)) }
    history.take(.retry([1]))
    history.run(1, at: 30, for: 5)
    let (running, waiting) = (history.add(), history.add())
    history.start(running, at: -900)
    history.take(.move([history.add()], .before(waiting)))
    #expect(history.timeline().rows.map(\.job.id) == [1, 2, 3, running, 6, waiting])
    #expect(history.timeline(last: 2).rows.map(\.job.id) == [1, running, 6, waiting])
    #expect(history.timeline(last: 2).earlier == 2)
  }

  // Fails if a hundred thousand waiting jobs displace those that ran, or are all drawn.
  @Test("only the next few waiting jobs are drawn, and the others are counted")
  func waiting() {
    var history = History()
    history.job(at: 0, for: 5)
    for _ in 0..<20 { history.add() }
    #expect(history.timeline(last: 1).rows.map(\.job.id) == [1, 2, 3, 4, 5, 6])
    #expect(history.timeline(last: 1).later == 15 && history.timeline(last: 1).earlier == 0)
  }

  // Fails if a state is missing from the legend.
  @Test("the legend has every state that is drawn, those of earlier attempts included")
  func states() {
    #expect(History.everything.timeline().states == JobState.allCases)
    var history = History()
    let id = history.add()
    history.run(id, at: 0, for: 5, .exited(1))
    history.take(.retry([id]))
    history.run(id, at: 60, for: 7)
    #expect(history.timeline().states == [.succeeded, .failed])
  }

  // Fails if an omitted job is not counted, or more jobs are drawn than requested.
  @Test("totals count every job, however few are drawn")
  func totals() {
    var history = History()
    for number in 0..<5_000 { history.job(at: Double(number), for: 0.5, label: "x") }
    let report = history.report(last: 10)
    #expect(report.jobs == 5_000 && report.work == .seconds(2_500))
    #expect(report.timeline.rows.count == 10 && report.timeline.earlier == 4_990)
    #expect(report.period?.start == History.moment(0))
    #expect(report.earlierText == "4990 earlier jobs are not drawn; --last N draws more.")
  }
}
