import SerialqQueue
import SerialqSystem

// The arguments of commands that change a queue or wait for it.

extension Invocation {
  struct Wait: Equatable {
    var queue: String
    /// Empty for the whole queue.
    var ids: [ClosedRange<JobID>]
    /// In seconds.
    var timeout: Int?
  }

  struct Ack: Equatable {
    var queue: String
    /// Empty for all failures.
    var ids: [ClosedRange<JobID>]
  }

  struct Cancel: Equatable {
    enum Jobs: Equatable {
      case ids([ClosedRange<JobID>])
      /// Waiting and running jobs.
      case all
      case running
    }

    var queue: String
    var jobs: Jobs
    var signal: Int32?
  }

  struct Retry: Equatable {
    var queue: String
    /// Empty for all failures.
    var ids: [ClosedRange<JobID>]
    var isFirst: Bool
  }

  struct Move: Equatable {
    var queue: String
    var id: JobID
    var place: Place
  }

  struct Edit: Equatable {
    var queue: String
    var id: JobID
  }

  struct Pause: Equatable {
    /// Nil for all queues.
    var queue: String?
  }

  struct Clean: Equatable {
    var queue: String
    /// In seconds.
    var olderThan: Int?
    var keep: Int?
    var onlyFailed: Bool
    /// Includes unacknowledged failures.
    var all: Bool
  }

  struct Set: Equatable {
    enum Change: Equatable {
      case stopsOnFailure(Bool)
      case onFinish(Bytes?)
      case keep(Int?)
    }

    var queue: String
    /// Nil shows the settings.
    var change: Change?
  }

  /// Parses one of these commands; returns nil for any other.
  static func change(_ words: ParsedArguments, _ queue: String) throws(Failure) -> Invocation? {
    switch words.command.name {
    case .wait:
      return .wait(Wait(queue: queue, ids: try ids(words), timeout: words.seconds(.timeout)))
    case .ack:
      return .ack(Ack(queue: queue, ids: try ids(words, or: [.all])))
    case .cancel: return .cancel(try cancel(words, queue))
    case .retry:
      let ids = try ids(words, or: [.failed])
      return .retry(Retry(queue: queue, ids: ids, isFirst: words.has(.first)))
    case .move: return .move(Move(queue: queue, id: try oneID(words), place: try place(words)))
    case .edit: return .edit(Edit(queue: queue, id: try oneID(words)))
    case .pause: return .pause(try pause(words, queue))
    case .resume: return .resume(try pause(words, queue))
    case .clean: return .clean(try clean(words, queue))
    case .set: return .set(Set(queue: queue, change: try setting(words)))
    case .queues:
      try refuseOperands(words)
      return .queues(json: words.has(.json))
    case .add, .run, .list, .status, .show, .log, .report, .completion, .help: return nil
    }
  }

  private static func cancel(_ words: ParsedArguments, _ queue: String) throws(Failure) -> Cancel {
    let ids = try ids(words, or: [.all, .running])
    let jobs: Cancel.Jobs = words.has(.all) ? .all : words.has(.running) ? .running : .ids(ids)
    return Cancel(
      queue: queue, jobs: jobs, signal: words.value(.signal).flatMap(SignalName.number))
  }

  private static func pause(_ words: ParsedArguments, _ queue: String) throws(Failure) -> Pause {
    try refuseOperands(words)
    if words.has(.all), words.has(.queue) {
      throw words.misused("--all", "cannot be combined with --queue")
    }
    return Pause(queue: words.has(.all) ? nil : queue)
  }

  private static func clean(_ words: ParsedArguments, _ queue: String) throws(Failure) -> Clean {
    try refuseOperands(words)
    if words.has(.all), words.has(.failed) {
      throw words.misused("--all", "cannot be combined with --failed")
    }
    return Clean(
      queue: queue, olderThan: words.seconds(.olderThan), keep: words.number(.keep),
      onlyFailed: words.has(.failed), all: words.has(.all))
  }

  private static func place(_ words: ParsedArguments) throws(Failure) -> Place {
    let given = [OptionName.first, .last, .before].filter(words.has)
    guard let name = given.first, given.count == 1 else {
      throw words.misused("move", "give one of --first, --last and --before ID")
    }
    switch name {
    case .first: return .first
    case .last: return .last
    default: return .before(words.number(.before) ?? 0)
    }
  }

  private static func setting(_ words: ParsedArguments) throws(Failure) -> Set.Change? {
    guard let name = words.operands.first else { return nil }
    let names = CommandTable.settings.map(\.name)
    guard names.contains(name.text) else {
      let meant = Suggestion.closest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
      throw words.misused(Visible.text(name), "not a setting\(meant)")
    }
    guard words.operands.count == 2 else {
      let why = words.operands.count == 1 ? "no value is given" : "takes one value only"
      throw words.misused(name.text, why)
    }
    let value = words.operands[1]
    switch name.text {
    case "on-failure":
      guard value == Bytes("stop") || value == Bytes("continue") else {
        throw words.misused(Visible.text(value), "on-failure is continue or stop")
      }
      return .stopsOnFailure(value == Bytes("stop"))
    case "on-finish": return .onFinish(value.allSatisfy(\.isSpace) ? nil : value)
    default:
      if value == Bytes("all") { return .keep(nil) }
      guard let count = Int(decimal: value), count <= Int(UInt32.max) else {
        throw words.misused(Visible.text(value), "keep is a number above 0, or all")
      }
      return .keep(count)
    }
  }

  // MARK: Ids

  /// Parses the ids, which may be missing; rejects them together with one of these options.
  private static func ids(
    _ words: ParsedArguments, or options: [OptionName] = []
  ) throws(Failure) -> [ClosedRange<JobID>] {
    let given = options.filter(words.has)
    if let option = given.first {
      if given.count > 1 {
        throw words.misused(
          "--\(given[1].rawValue)", "cannot be combined with --\(option.rawValue)")
      }
      if let id = words.operands.first {
        throw words.misused(Visible.text(id), "an id cannot be combined with --\(option.rawValue)")
      }
      return []
    }
    if words.operands.isEmpty, !options.isEmpty {
      let others = options.map { "--\($0.rawValue)" }.joined(separator: " or ")
      throw Failure(
        words.command.name.rawValue, "no job id is given",
        next: "Give ids, or \(others); serialq list shows the ids.")
    }
    var ids: [ClosedRange<JobID>] = []
    for word in words.operands {
      guard let range = ClosedRange<JobID>(word) else { throw notAnID(word) }
      ids.append(range)
    }
    return ids
  }

  private static func oneID(_ words: ParsedArguments) throws(Failure) -> JobID {
    guard let id = try id(words) else {
      throw Failure(
        words.command.name.rawValue, "no job id is given", next: "serialq list shows the ids.")
    }
    return id
  }
}
