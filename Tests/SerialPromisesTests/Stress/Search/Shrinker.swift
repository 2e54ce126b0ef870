import SerialPromises

/// Reduces a failing scenario: removes operations as long as it fails in the same way.
struct Shrinker {
  private let kind: Violation.Kind
  private let patience: Duration

  /// The number of times that a smaller scenario must pass to count as correct.
  private let repetitions = 40

  init(_ kind: Violation.Kind, _ patience: Duration) {
    self.kind = kind
    // Each scenario that still hangs takes this long.
    self.patience = min(patience, .seconds(1))
  }

  func shrunk(_ scenario: Scenario) -> Scenario {
    // A time limit, because reducing a rare failure takes too many repetitions.
    let deadline = ContinuousClock.now + .seconds(60)
    var smallest = scenario
    var size = 0
    while size != smallest.size {
      size = smallest.size
      for lane in smallest.lanes.indices {
        for index in smallest.lanes[lane].actions.indices.reversed() {
          guard ContinuousClock.now < deadline else { return smallest }
          var smaller = smallest
          smaller.lanes[lane].actions.remove(at: index)
          if fails(smaller) { smallest = smaller }
        }
      }
    }
    return smallest
  }

  private func fails(_ scenario: Scenario) -> Bool {
    for _ in 0..<repetitions {
      let verdict = Performance.verdict(on: scenario, patience: patience)
      if verdict.violations.contains(where: { $0.kind == kind }) { return true }
    }
    return false
  }
}

extension Scenario: CustomStringConvertible {
  var description: String {
    var lines = managers.enumerated().map { "manager \($0): \($1)" }
    for (number, lane) in lanes.enumerated() where !lane.actions.isEmpty {
      lines.append("\(lane.isTask ? "task" : "thread") \(number):")
      lines += lane.actions.map { "  \(describe($0))" }
    }
    return lines.joined(separator: "\n")
  }

  private func describe(_ action: Action) -> String {
    guard case .add(let number, let isWatched) = action else { return "\(action)" }
    let step = steps[number]
    var line = "add \(number) to manager \(step.manager): \(describe(step.form))"
    if let place = step.place { line += ", place: \(place)" }
    if step.waitsForRoom { line += ", when there is room" }
    if isWatched { line += ", watched" }
    guard case .serially(let members) = step.form else { return line }
    return line + members.map { "\n    \($0): \(describe(steps[$0].form))" }.joined()
  }

  private func describe(_ form: Form) -> String {
    "\(form)".replacing("SerialPromisesTests.", with: "")
  }

  /// A list of events, for messages.
  func describe(_ events: some Sequence<Books.Event>) -> String {
    events.map { event in
      switch event {
      case .entered(let piece): "step \(pieces[piece].step) enters (\(piece))"
      case .left(let piece): "step \(pieces[piece].step) leaves (\(piece))"
      case .notified(let listener): "listener \(listener) is called"
      case .acted(let lane, let index): "\(lane): \(lanes[lane].actions[index])"
      case .cleared: "all is dropped"
      }
    }.joined(separator: "; ")
  }
}
