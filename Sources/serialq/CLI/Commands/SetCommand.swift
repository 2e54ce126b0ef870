import SerialqQueue
import SerialqSystem

/// `serialq set`: shows or changes the settings of a queue.
struct SetCommand: Equatable {
  enum Change: Equatable {
    case stopsOnFailure(Bool)
    case onFinish(Bytes?)
    case keep(Int?)
  }

  var queue: String
  /// Nil shows the settings.
  var change: Change?
}

extension SetCommand: Subcommand {
  static let name = "set"

  static let spec = CommandSpec(
    name: name,
    summary: "show or change the settings of a queue",
    synopsis: [
      "set [options]", "set [options] on-failure continue|stop",
      "set [options] on-finish 'COMMAND LINE'", "set [options] keep N",
    ],
    description: [
      """
      on-failure stop pauses the queue when a job failed, was killed, timed out or was \
      interrupted, and has no retry left.
      """,
      """
      on-finish sets a command line that runs after each job, before the next one, for at most \
      60 seconds. It runs with the directory and environment of this call, and with SERIALQ_JOB, \
      SERIALQ_QUEUE, SERIALQ_STATE, SERIALQ_EXIT, SERIALQ_SIGNAL, SERIALQ_ATTEMPT, \
      SERIALQ_SECONDS, SERIALQ_LABEL, SERIALQ_COMMAND and SERIALQ_LOG. '' removes it. A failure of \
      the command has no effect on the job; show reports it, and status reports the latest one.
      """,
      """
      keep N removes finished jobs and their logs, except the last N and the open failures; keep \
      all removes none. If a follower of the queue is so slow that an output is removed before it \
      is printed, the follower names the job.
      """,
    ],
    options: [.queue],
    operands: .setting,
    examples: [
      Example("serialq set", "show the settings"),
      Example("serialq set on-failure stop", "start no job after a failure"),
      Example("serialq set on-finish './notify $SERIALQ_JOB'", "run after each job"),
    ]
  )

  /// The names of the settings, and the fixed values of some.
  static let settings: [(name: String, choices: [String])] = [
    ("on-failure", ["continue", "stop"]), ("on-finish", []), ("keep", ["all"]),
  ]

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queue: queue, change: try Self.change(words))
  }

  private static func change(_ words: ParsedArguments) throws(Failure) -> Change? {
    guard let name = words.operands.first else { return nil }
    let names = settings.map(\.name)
    guard names.contains(name.text) else {
      let meant = Suggestion.closest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
      throw words.misused(Visible.text(name), "not a setting\(meant)")
    }
    guard words.operands.count == 2 else {
      let why = words.operands.count == 1 ? "no value is given" : "takes only one value"
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

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    guard let change = self.change else {
      let settings = try session.readQueue(named: queue)?.1.settings ?? Queue().settings
      session.output.result(settings.table)
      return .success
    }
    // A queue can be configured before its first job.
    let folder = try session.spool().makeQueue(named: Bytes(queue.utf8))
    try Journal(folder).locked { (scope) throws(Failure) in
      try scope.append([.set(try setting(change, scope), at: Clock.now())])
    }
    return .success
  }

  private func setting(
    _ change: Change, _ scope: JournalScope
  ) throws(Failure) -> Setting {
    switch change {
    case .stopsOnFailure(let stops): return .stopsOnFailure(stops)
    case .keep(let count): return .keep(count)
    case .onFinish(let line):
      return .onFinish(try line.map { (line) throws(Failure) in try scope.hook(line) })
    }
  }
}

extension Queue.Settings {
  /// The settings in the form that `serialq set` accepts.
  fileprivate var table: String {
    let hook = onFinish.map { ShellQuote.word($0.line) } ?? "''"
    return """
      on-failure  \(stopsOnFailure ? "stop" : "continue")
      on-finish   \(hook)
      keep        \(keep.map { "\($0)" } ?? "all")

      """
  }
}
