import SerialqQueue
import SerialqSystem

/// Access to operands, as the commands share it.
extension ParsedArguments {
  /// Parses the ids, which may be missing; rejects them together with one of these options.
  func ids(
    or options: [OptionName] = []
  ) throws(Failure) -> [ClosedRange<JobID>] {
    let given = options.filter(has)
    if let option = given.first {
      if given.count > 1 {
        throw misused(
          "--\(given[1].text)", "cannot be combined with --\(option.text)")
      }
      if let id = operands.first {
        throw misused(Visible.text(id), "an id cannot be combined with --\(option.text)")
      }
      return []
    }
    if operands.isEmpty, !options.isEmpty {
      let others = options.map { "--\($0.text)" }.joined(separator: " or ")
      throw Failure(
        command.name, "no job id is given",
        next: "Give ids, or \(others); serialq list shows the ids.")
    }
    var ids: [ClosedRange<JobID>] = []
    for word in operands {
      guard let range = ClosedRange<JobID>(word) else { throw Self.notAnID(word) }
      ids.append(range)
    }
    return ids
  }

  func oneID() throws(Failure) -> JobID {
    guard let id = try id() else {
      throw Failure(command.name, "no job id is given", next: "serialq list shows the ids.")
    }
    return id
  }

  func id() throws(Failure) -> JobID? {
    guard let word = operands.first else { return nil }
    try refuseOperands(after: 1)
    guard let id = JobID.parse(word) else { throw Self.notAnID(word) }
    return id
  }

  private static func notAnID(_ word: Bytes) -> Failure {
    Failure(
      Visible.text(word), "not a job id (a number above 0)",
      next: "serialq list shows the ids.")
  }

  /// Fails if there are more than `count` operands.
  func refuseOperands(after count: Int = 0) throws(Failure) {
    guard let extra = operands.dropFirst(count).first else { return }
    // `serialq -q video add make`
    if command.name == StatusCommand.name, let meant = CommandTable.type(called: extra) {
      throw Failure(
        Visible.text(extra), "the command must precede its options",
        next: "See: serialq help \(meant.name)")
    }
    let limit = count == 0 ? "no argument" : "only one argument"
    throw misused(Visible.text(extra), "\(command.name) takes \(limit)")
  }
}
