import SerialqSystem

extension TimeScale {
  struct Tick: Equatable {
    var place: Double
    var label: String
  }

  /// In seconds; longer steps are multiples of a day.
  private static let steps: [Int64] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
    86_400,
  ]

  /// The labels that fit in this many columns, each to the right of its position.
  ///
  /// Starts after a cut take precedence over round times. The first label has its date, and so has
  /// each on a different day than the one before.
  func ticks(columns: Int) -> [Tick] {
    guard let first = stretches.first else { return [] }
    let step = step(columns: columns)
    let isFine = step < 60
    var ticks: [(start: Int, end: Int, moment: Timestamp)] = []
    func add(_ moment: Timestamp) {
      let start = Int(place(of: moment) * Double(columns))
      // Reserves the longest form of the label.
      let isDated = ticks.isEmpty || moment.day != first.start.day
      let end = start + (isDated ? 11 : 5) + (isFine ? 3 : 0)
      let isFree = ticks.allSatisfy { end + 1 < $0.start || start > $0.end + 1 }
      if end <= columns, isFree { ticks.append((start, end, moment)) }
    }
    add(first.start)
    // Without the first label, which has the date, the others would be ambiguous.
    if ticks.isEmpty { return [] }
    let drawn = stretches.filter { !$0.isCut }
    // At most one start per column can fit.
    for stretch in drawn.prefix(columns) { add(stretch.start) }
    for stretch in drawn {
      // Round times of the local zone, which may be ahead by half an hour.
      let ahead = stretch.start.secondsAheadOfUTC
      var moment = (stretch.start.microseconds / 1_000_000 + ahead) / step * step - ahead
      while moment < stretch.end.microseconds / 1_000_000 {
        moment += step
        let tick = Timestamp(microseconds: moment * 1_000_000)
        if tick > stretch.start, tick < stretch.end { add(tick) }
      }
    }
    var day = ""
    return ticks.sorted { $0.start < $1.start }.map { tick in
      let isDated = tick.moment.day != day
      day = tick.moment.day
      let time = tick.moment.time.prefix(isFine ? 8 : 5)
      let label = isDated ? "\(day.dropFirst(5)) \(time)" : String(time)
      return Tick(place: place(of: tick.moment), label: label)
    }
  }

  /// The interval between round times in seconds, large enough for the labels.
  private func step(columns: Int) -> Int64 {
    let drawn = stretches.filter { !$0.isCut }
    let seconds = drawn.reduce(0) { $0 + Double($1.duration.components.seconds) + 1 }
    let room = drawn.reduce(0) { $0 + $1.to - $1.from } * Double(max(1, columns))
    let needed = seconds / max(1, room) * 12
    if let step = Self.steps.first(where: { Double($0) >= needed }) { return step }
    var step: Int64 = 86_400
    while Double(step) < needed { step *= 2 }
    return step
  }
}
