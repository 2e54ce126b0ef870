import TestSupport
import Testing

@testable import SerialqCLI

@Suite struct TimeScaleTests {
  private func scale(_ jobs: [(start: Double, length: Double)]) -> TimeScale {
    var history = History()
    for job in jobs { history.job(at: job.start, for: job.length) }
    return history.timeline(last: .max).scale
  }

  private func place(_ scale: TimeScale, _ seconds: Double) -> Double {
    scale.place(of: History.moment(seconds))
  }

  // Fails if a night is drawn to scale: both jobs would take a hundredth of the width.
  @Test("idle hours are cut out, and all jobs are drawn to one scale")
  func night() {
    let scale = scale([(0, 100), (100, 200), (36_300, 100)])
    #expect(scale.cuts.map(\.duration) == [.seconds(36_000)])
    #expect(place(scale, 0) == 0 && place(scale, 36_400) == 1)
    let widths = [(0.0, 100.0), (100, 300), (36_300, 36_400)].map {
      place(scale, $0.1) - place(scale, $0.0)
    }
    #expect(abs(widths[1] / widths[0] - 2) < 1e-9 && abs(widths[2] / widths[0] - 1) < 1e-9)
    #expect(widths.reduce(0, +) > 0.9)
  }

  // Fails if every gap is cut: the idle time between two jobs would not be visible.
  @Test("gaps of up to a tenth of the busy time are drawn to scale")
  func pauses() {
    #expect(self.scale([(0, 50), (60.9, 60)]).cuts.isEmpty)
    #expect(self.scale([(0, 50), (61.1, 60)]).cuts.count == 1)
    let scale = scale([(0, 100), (110, 100), (220, 100)])
    #expect(scale.cuts.isEmpty)
    #expect(abs(place(scale, 110) - 110.0 / 320) < 1e-9)
  }

  @Test("of gaps of equal length, all are cut or none")
  func alike() {
    let scale = scale((0..<40).map { (Double($0) * 31, 1) })
    #expect(scale.cuts.count == 39)
    #expect(Set(scale.cuts.map { Int(($0.to - $0.from) * 1e6) }).count == 1)
  }

  // Fails with a division by zero, or a position that is not a number.
  @Test("no job, one job, and jobs without duration have a scale")
  func little() {
    #expect(scale([]).cuts.isEmpty && scale([]).ends == nil)
    #expect(place(scale([]), 5) == 0)
    #expect(place(scale([(7, 0)]), 7) == 0)
    let instants = scale([(0, 0), (50, 0), (9_000, 0)])
    let places = [0.0, 50, 9_000].map { place(instants, $0) }
    #expect(places == places.sorted() && Set(places).count == 3 && (places.last ?? 2) <= 1)
  }

  // Fails if a position is outside, or a later time is before an earlier one.
  @Test("for any jobs, positions increase with time", arguments: 0..<200)
  func always(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let scales = [0.001, 1, 60, 5_000, 200_000, 9e8]
    let jobs = (0..<Int.random(in: 1...40, using: &random)).map { _ in
      (
        Double.random(in: 0...(scales.randomElement(using: &random) ?? 1), using: &random),
        Double.random(in: 0...(scales.randomElement(using: &random) ?? 1), using: &random)
      )
    }
    let scale = scale(jobs)
    let moments = jobs.flatMap { [$0.0, $0.0 + $0.1] }.sorted()
    let places = moments.map { place(scale, $0) }
    #expect(places == places.sorted())
    #expect(places.allSatisfy { (0...1).contains($0) } && places.first == 0)
    for cut in scale.cuts { #expect(cut.from < cut.to && cut.duration > .seconds(1)) }
  }
}
