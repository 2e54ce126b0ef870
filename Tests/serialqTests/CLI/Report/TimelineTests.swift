import SerialqQueue
import SerialqSystem
import Testing

@testable import SerialqCLI

@Suite struct TimelineTests {
  // Fails if only the latest attempt is drawn, or an earlier one is drawn as the job ended.
  @Test("every attempt at a job is in its row, with what became of it")
  func attempts() throws {
    var history = History()
    let id = history.add()
    history.run(id, at: 0, for: 5, .exited(1))
    history.retry(id, at: 5, attempts: 1)
    history.run(id, at: 60, for: 7, attempt: 2, .killed(15), .timedOut)
    history.retry(id, at: 67, attempts: 2)
    #expect(history.timeline().rows[0].attempts.map(\.state) == [.failed, .timedOut])
    #expect(history.timeline().rows[0].time == "")
    history.run(id, at: 90, for: 9, attempt: 3)
    let row = try #require(history.timeline().rows.first)
    #expect(row.attempts.map(\.state) == [.failed, .timedOut, .succeeded])
    #expect(row.attempts.map(\.duration) == [.seconds(5), .seconds(7), .seconds(9)])
    #expect(row.time == "9.0s")
    #expect(history.report().retries == 2 && history.report().work == .seconds(21))
  }

  // Fails if the time at which it was found is taken for its end: nobody knows that.
  @Test("of an interrupted job the start is known, and no duration is made up")
  func interrupted() {
    var history = History()
    let id = history.add()
    history.start(id, at: 10)
    history.take(.interrupted(id: id, at: History.moment(80_000)))
    let row = history.timeline().rows[0]
    #expect(row.attempts.map(\.duration) == [nil] && row.time == "")
    #expect(row.bars.map(\.from) == row.bars.map(\.to))
    #expect(history.report().work == .zero && history.report().longest == nil)
  }

  // Fails if a date is taken for a duration where the duration was measured.
  @Test("a clock that was set while a job ran makes it neither longer nor shorter")
  func clock() {
    var history = History()
    for (id, end) in [(history.add(), -500.0), (history.add(), 9_000)] {
      history.start(id, at: 0)
      history.take(
        .ended(
          id: id, at: History.moment(end), duration: 3_000_000_000, how: .exited(0), cause: .itself)
      )
    }
    #expect(history.timeline().rows.map(\.time) == ["3.0s", "3.0s"])
    #expect(history.timeline().scale.stretches.map(\.duration) == [.seconds(3)])
  }

  // Fails if jobs are drawn by id, or what runs is lost among others when the clock was set back.
  @Test("jobs come in the order in which they ran last, then those that wait as they will run")
  func order() {
    var history = History()
    for start in [0.0, 10, 20] { history.job(at: start, for: 5, .exited(1)) }
    history.retry(1, at: 30, attempts: 1)
    history.run(1, at: 30, for: 5, attempt: 2)
    let (running, waiting) = (history.add(), history.add())
    history.start(running, at: -900)
    history.take(.moved(id: history.add(), at: History.moment(40), place: .before(waiting)))
    #expect(history.timeline().rows.map(\.job.id) == [2, 3, 1, running, 6, waiting])
    #expect(history.timeline(last: 2).rows.map(\.job.id) == [1, running, 6, waiting])
    #expect(history.timeline(last: 2).earlier == 2)
  }

  // Fails if a hundred thousand waiting jobs push out what ran, or are all drawn.
  @Test("of those that wait only the next few are drawn, and the others are counted")
  func waiting() {
    var history = History()
    history.job(at: 0, for: 5)
    for _ in 0..<20 { history.add() }
    #expect(history.timeline(last: 1).rows.map(\.job.id) == [1, 2, 3, 4, 5, 6])
    #expect(history.timeline(last: 1).later == 15 && history.timeline(last: 1).earlier == 0)
  }

  // Fails if a state is left out where it is explained.
  @Test("every state that is drawn is explained, those of earlier attempts too")
  func states() {
    #expect(History.everything.timeline().states == JobState.allCases)
    var history = History()
    let id = history.add()
    history.run(id, at: 0, for: 5, .exited(1))
    history.retry(id, at: 5, attempts: 1)
    history.run(id, at: 60, for: 7, attempt: 2)
    #expect(history.timeline().states == [.succeeded, .failed])
  }

  // Fails if what is not drawn is not counted, or more is drawn than was asked for.
  @Test("totals count every job, however few are drawn")
  func totals() {
    var history = History()
    for number in 0..<5_000 { history.job(at: Double(number), for: 0.5, label: "x") }
    let report = history.report(last: 10)
    #expect(report.jobs == 5_000 && report.work == .seconds(2_500))
    #expect(report.timeline.rows.count == 10 && report.timeline.earlier == 4_990)
    #expect(report.period?.start == History.moment(0))
    #expect(report.series.map(\.count) == [5_000] && report.series[0].points.count == 40)
    #expect(report.earlierText == "4990 earlier jobs are not drawn; --last N draws more.")
  }
}
