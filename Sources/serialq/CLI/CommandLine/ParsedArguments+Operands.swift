import SerialqQueue
import SerialqSystem

/// Access to operands, as the commands share it.
extension ParsedArguments {
  /// The selected jobs; fails if none is given, or together with one of these options, which stand
  /// for them.
  func someJobs(or options: [OptionName] = []) throws(Failure) -> JobSelection {
    let given = options.filter(has)
    if let option = given.first {
      if let word = operands.first {
        throw misused(Visible.text(word), "a job cannot be combined with --\(option.rawValue)")
      }
      for other in given.dropFirst() { try refuse(other, with: option) }
      return JobSelection()
    }
    guard !operands.isEmpty else {
      let others = options.map { "--\($0.rawValue)" }.joined(separator: " or ")
      throw Failure(
        command.name.rawValue, "no job is given",
        next: """
          Give ids or labels\(others.isEmpty ? "" : ", or \(others)"); \(advised("list")) shows them.
          """)
    }
    return JobSelection(operands)
  }

  /// The selected job; fails unless exactly one is given.
  func oneJob() throws(Failure) -> JobSelection {
    let selection = try someJobs()
    try refuseOperands(after: 1)
    guard selection.namesOneJob else {
      throw misused(Visible.text(operands[0]), "\(command.name.rawValue) takes only one job")
    }
    return selection
  }

  /// Fails if there are more than `count` operands.
  func refuseOperands(after count: Int = 0) throws(Failure) {
    guard let extra = operands.dropFirst(count).first else { return }
    let limit = count == 0 ? "no argument" : "only one argument"
    throw misused(Visible.text(extra), "\(command.name.rawValue) takes \(limit)")
  }
}
