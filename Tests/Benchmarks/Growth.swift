import Foundation
import SerialPromises

/// The cost of one unit at each of several sizes.
struct Growth {
  let title: String
  let measure: String
  let series: [Series]
  /// The maximum ratio of the cost at the last size to the cost at `size`; for all series, or one.
  var atMost: (factor: Double, size: Int)?
  var judged: String?

  struct Series {
    let name: String
    let points: [(size: Int, cost: Double)]

    /// Interleaved, so that a slow moment affects all sizes.
    init(_ name: String, sizes: [Int], repetitions: Int, _ measure: (Int) -> Double) {
      self.name = name
      var samples = sizes.map { _ in Sample() }
      for _ in 0..<repetitions {
        for (index, size) in sizes.enumerated() { samples[index].add(measure(size)) }
      }
      points = zip(sizes, samples).map { ($0, $1.median) }
    }
  }

  // MARK: Measurements

  /// Steps, links, cancellations and deallocations.
  static func library(_ sizes: [Int], repetitions: Int) -> Growth {
    func series(_ name: String, _ work: (Int) -> Double) -> Series {
      Series(name, sizes: sizes, repetitions: repetitions) { work($0) / Double($0) }
    }
    return Growth(
      title: "the library, by the number of units at once", measure: "ns",
      series: [
        // The cost of memory accesses beyond the processor's caches.
        series("the floor: an array") { Floor.time($0) },
        series("a step, added and run") { n in
          PromiseManager().time(n, isHeldBack: true) { $0.add(n, counting: $1) }
        },
        series("a link, created and passed") { n in nanoseconds { passThroughChain(n) } },
        series("a step, canceled") { n in
          let manager = PromiseManager()
          manager.pause()
          let handles = (0..<n).map { _ in manager.add { then in then() } }
          return nanoseconds { for handle in handles { handle.cancel() } }
        },
        series("a step, released") { n in
          var manager: PromiseManager? = PromiseManager()
          manager?.pause()
          manager?.add(n, counting: Tally())
          return nanoseconds { manager = nil }
        },
      ], atMost: (1.3, sizes.dropFirst().first ?? 0))
  }

  /// One call that adds a job, with `size` waiting jobs.
  ///
  /// The last size of a program is the most
  /// that it takes.
  static func programs(_ sizes: [Int], repetitions: Int) -> Growth {
    Growth(
      title: "one call that adds a job, by the number of waiting jobs", measure: "ms",
      series: Queuer.all.map { queuer in
        let possible = Set(sizes.map { min($0, queuer.most) }).sorted()
        return Series(queuer.name, sizes: possible, repetitions: repetitions) { size in
          queuer.behindAJob(waiting: size, discards: true) {
            ProgramContests.each(20, queuer.call(queuer.add + ["true"], in: $0)) / 1e6
          }
        }
      }, atMost: (1.2, sizes.first ?? 0), judged: "serialq")
  }

  /// Commands that display all jobs, by the number of jobs.
  static func displays(_ serialq: Queuer, _ sizes: [Int], repetitions: Int) -> Growth {
    Growth(
      title: "displaying jobs, by their number", measure: "ns",
      series: ["list", "status"].map { name in
        Series(name, sizes: sizes, repetitions: repetitions) { size in
          let scratch = Scratch()
          defer { scratch.remove() }
          serialq.call(["pause"], in: scratch).run()
          serialq.fill(size, in: scratch)
          return ProgramContests.each(1, serialq.call([name], in: scratch)) / Double(size)
        }
      }, atMost: (1, sizes.first ?? 0))
  }

  // MARK: Output

  private var sizes: [Int] { Set(series.flatMap { $0.points.map(\.size) }).sorted() }

  var table: String {
    var lines = ["\(title), \(measure) each"]
    lines.append(row([""] + sizes.map { "\($0)" }))
    for series in series {
      let cells = sizes.map { size in
        series.points.first { $0.size == size }.map { Report.number($0.cost, digits($0.cost)) }
          ?? "-"
      }
      lines.append(row([series.name] + cells))
    }
    lines += verdicts.map(\.line)
    return lines.joined(separator: "\n") + "\n"
  }

  private var verdicts: [Report.Verdict] {
    guard let atMost else { return [] }
    return series.filter { judged ?? $0.name == $0.name }.compactMap { series in
      guard let base = series.points.first(where: { $0.size == atMost.size }),
        let last = series.points.last
      else { return nil }
      let ratio = last.cost / base.cost
      let text =
        "\(series.name): \(Report.number(ratio, 2)) times at \(last.size) what it is at \(base.size), "
        + "at most \(Report.number(atMost.factor, 2))"
      return Report.Verdict(text, ratio, atMost: atMost.factor)
    }
  }

  private func digits(_ value: Double) -> Int { value < 10 ? 2 : 0 }

  private func row(_ cells: [String]) -> String {
    Report.row(cells, [26] + sizes.map { _ in 12 })
  }

  var json: [String: Any] {
    [
      "title": title, "measure": measure,
      "series": series.map { series in
        [
          "name": series.name,
          "points": series.points.map { ["size": Double($0.size), "cost": $0.cost] },
        ] as [String: Any]
      },
      "targets": verdicts.map(\.json),
    ]
  }
}
