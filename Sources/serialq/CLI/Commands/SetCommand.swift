import SerialqQueue
import SerialqRunner
import SerialqSystem

/// `serialq set`: shows or changes the settings of a queue.
struct SetCommand: Equatable {
  enum Change: Equatable {
    case stopsOnFailure(Bool)
    case onFinish(Bytes?)
    case onIdle(Bytes?)
    case onAsk(Bytes?)
    case keep(Int?)
    case shell(Bytes?)
    case logLimit(Int?)
    case terminal(Bool)
    case launcher(Bytes?)
  }

  var queue: String
  /// Nil shows the settings, or one.
  var change: Change?
  /// The setting to show; nil for all.
  var shown: String?
}

extension SetCommand: Subcommand {
  static let spec = CommandSpec(
    name: .set,
    summary: "show or change the settings of a queue",
    synopsis: [
      "set [options] [NAME]", "set [options] on-failure continue|stop",
      "set [options] on-finish|on-idle|on-ask|launcher 'COMMAND'", "set [options] keep N",
      "set [options] shell PATH", "set [options] log-limit SIZE", "set [options] tty on|off",
    ],
    description: [
      """
      on-failure stop pauses the queue when a job failed, was killed, timed out or was \
      interrupted, and has no retry left.
      """,
      """
      on-finish sets a command line that runs after each job that ran, before the next one, \
      on-idle one that runs when no job waits any more, and on-ask one that runs when a job asks \
      something on its terminal. They are ended after 60 seconds, and have the directory and \
      environment of this call, and variables such as SERIALQ_JOB and SERIALQ_STATE, or \
      SERIALQ_SUCCEEDED and SERIALQ_FAILED. '' removes them. Status reports a failure of the first \
      two; it has no other effect.
      """,
      """
      keep N removes finished jobs and their logs, at once and after each job that ran, except \
      the open jobs and the last N of the others; keep all removes none. log-limit drops the \
      middle of a longer log when its job is over, and says so in the log: 512K, 10M, 1G or none.
      """,
      """
      shell is the program that runs command lines, as PATH -c LINE: /bin/bash, or default, which \
      is /bin/sh. tty on gives jobs without an input a terminal, as add --tty does. launcher is a \
      program with options that executes jobs elsewhere.
      """,
    ],
    details: [
      """
      NAME alone shows its value. See JOBS below for the variables of these commands, notifications \
      and long logs, and BEYOND ONE MACHINE for launchers. A size is a number of bytes, or of units \
      of 1024: K, M, G or T. A log keeps at least 1K. shell, tty and launcher apply to jobs that \
      start from now on, whenever they were added; shell applies to these commands too.
      """,
      """
      A follower of the queue, such as run or log -f, prints all output, however slow its reader is: \
      keep and log-limit leave it a copy of a log until it has printed it, or ends. It names a job \
      whose output clean removed before.
      """,
    ],
    options: [.queue],
    operands: .setting,
    examples: [
      Example("serialq set", "show the settings"),
      Example("serialq set on-finish './notify $SERIALQ_JOB'", "run after each job"),
      Example("serialq set on-idle 'notify-send done'", "run when all are done"),
      Example("serialq set log-limit 10M", "5M at each end"),
      Example("serialq set launcher 'serialq-ssh box'", "run the jobs there"),
    ]
  )

  /// The names of the settings, and the fixed values of some.
  static let settings: [(name: String, choices: [String])] = [
    ("on-failure", ["continue", "stop"]), ("on-finish", []), ("on-idle", []), ("on-ask", []),
    ("keep", ["all"]), ("shell", ["default"]), ("log-limit", ["none"]), ("tty", ["on", "off"]),
    ("launcher", []),
  ]

  /// What other programs call the fixed values.
  private static let meanings: [(choice: String, words: [String])] = [
    ("stop", ["abort", "pause", "halt", "exit"]), ("continue", ["ignore", "skip", "resume"]),
    ("on", ["yes", "true", "1"]), ("off", ["no", "false", "0", "none"]),
  ]

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queue: queue, change: try Self.change(words))
    if change == nil { shown = words.operands.first?.text }
  }

  private static func change(_ words: ParsedArguments) throws(Failure) -> Change? {
    guard let name = words.operands.first else { return nil }
    let names = settings.map(\.name)
    guard names.contains(name.text) else {
      let meant = Suggestion.question(about: name, among: names)
      throw words.misused(Visible.text(name), "not one of \(names.joined(separator: ", "))\(meant)")
    }
    guard words.operands.count > 1 else { return nil }
    guard words.operands.count == 2 else {
      throw words.misused(name.text, "takes only one value")
    }
    let value = words.operands[1]
    let choices = settings.first { $0.name == name.text }?.choices ?? []
    guard choices.count < 2 || choices.contains(value.text) else {
      let meant = meanings.first { $0.words.contains(value.text) && choices.contains($0.choice) }
      throw words.misused(
        value.isEmpty ? "''" : Visible.text(value),
        "\(name.text) is \(choices.joined(separator: " or "))"
          + (meant.map { "; did you mean \($0.choice)?" }
            ?? Suggestion.question(about: value, among: choices)))
    }
    let line = value.allSatisfy(\.isSpace) ? nil : value
    switch name.text {
    case "on-failure": return .stopsOnFailure(value == Bytes("stop"))
    case "on-finish": return .onFinish(line)
    case "on-idle": return .onIdle(line)
    case "on-ask": return .onAsk(line)
    case "launcher": return .launcher(try launcher(value, words))
    case "tty": return .terminal(value == Bytes("on"))
    case "shell":
      if value == Bytes("default") { return .shell(nil) }
      guard value.first == UInt8(ascii: "/") else {
        throw words.misused(Visible.text(value), "shell is an absolute path, or default")
      }
      return .shell(value)
    case "log-limit":
      if value == Bytes("none") { return .logLimit(nil) }
      guard let size = Humanize.parseSize(value).map(Int.init), Memory.Settings.logLimits ~= size
      else {
        throw words.misused(
          Visible.text(value), "log-limit is a size of at least 1K, such as 10M, or none")
      }
      return .logLimit(size)
    default:
      if value == Bytes("all") { return .keep(nil) }
      guard let count = Int(decimal: value), count <= Int(UInt32.max) else {
        throw words.misused(Visible.text(value), "keep is a number above 0, or all")
      }
      return .keep(count)
    }
  }

  /// One line: the words of a job are appended to it.
  private static func launcher(
    _ value: Bytes, _ words: ParsedArguments
  ) throws(Failure) -> Bytes? {
    guard !value.contains(UInt8(ascii: "\n")) else {
      throw words.misused("launcher", "takes one line, to which the words of each job are added")
    }
    let start = value.drop { $0.isSpace }
    guard let end = start.lastIndex(where: { !$0.isSpace }) else { return nil }
    let line = Bytes(start[...end])
    if let quote = JobFile.openQuote(in: line, beforeWords: true) {
      throw words.misused(
        "launcher", "a quote (\(quote)) is open at its end, where the words of each job are added")
    }
    return line
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    guard let change = self.change else {
      let found = try session.readQueue(named: queue)?.1
      if found == nil { session.reportNoJobs(in: queue) }
      let settings = found?.settings ?? Queue().settings
      session.output.result(shown.map { settings.value($0) + "\n" } ?? settings.table)
      return .success
    }
    if case .shell(let path?) = change, try !FileSystem.isExecutable(path) {
      throw Failure(
        Visible.text(path), "not a program that you can execute",
        next: "Nothing was changed. List shells with: cat /etc/shells")
    }
    // A queue can be configured before its first job.
    let (folder, isNew) = try session.spool().makeQueue(named: Bytes(queue.utf8))
    var before = Queue()
    let forgotten = try session.change(queue) { (changes, scope) throws(Failure) in
      before = changes.queue
      var memory = before.memory
      try apply(change, to: &memory, scope)
      changes.append(.queue(memory))
      let forgotten: [Entry] = if case .keep = change { changes.queue.forgetting() } else { [] }
      for entry in forgotten { changes.append(entry) }
      return forgotten.flatMap(\.forgottenIDs)
    }
    // After the lines are durable: a log must not be lost while its job can reappear.
    folder.removeFiles(of: forgotten, in: before)
    if isNew { session.reportNoJobs(in: queue) }
    if case .launcher(let command?) = change { warn(command, in: session) }
    return .success
  }

  /// Says that the program of a launcher is not there; it may be installed before a job starts.
  private func warn(_ command: Bytes, in session: Session) {
    let name = Bytes(command.prefix { !$0.isSpace })
    // Only the shell knows what a quoted word is.
    guard ShellQuote.word(name) == name.text, !ProgramSearch.finds(name) else { return }
    session.output.message(
      """
      serialq: launcher \(name.text): not a program that you can execute
      It is set, but jobs cannot be run until it is installed.
      """)
  }

  private func apply(
    _ change: Change, to memory: inout Memory, _ scope: JournalScope
  ) throws(Failure) {
    func hook(_ line: Bytes?) throws(Failure) -> Hook? {
      try line.map { (line) throws(Failure) in try scope.hook(line) }
    }
    switch change {
    case .stopsOnFailure(let stops): memory.settings.stopsOnFailure = stops
    case .keep(let count): memory.settings.keep = count
    case .shell(let path): memory.settings.shell = path
    case .logLimit(let size): memory.settings.logLimit = size
    case .onFinish(let line): memory.settings.onFinish = try hook(line)
    case .onIdle(let line): memory.setOnIdle(try hook(line))
    case .onAsk(let line): memory.settings.onAsk = try hook(line)
    case .terminal(let isOn): memory.settings.terminal = isOn
    case .launcher(let command): memory.settings.launcher = command
    }
  }
}

extension Memory.Settings {
  /// The settings in the form that `serialq set` accepts.
  fileprivate var table: String {
    SetCommand.settings.map { "\($0.name.padded(to: 12))\(value($0.name))\n" }.joined()
  }

  /// The value of one of them.
  fileprivate func value(_ name: String) -> String {
    func line(_ text: Bytes?) -> String { text.map { ShellQuote.word($0) } ?? "''" }
    return switch name {
    case "on-failure": stopsOnFailure ? "stop" : "continue"
    case "on-finish": line(onFinish?.line)
    case "on-idle": line(onIdle?.line)
    case "on-ask": line(onAsk?.line)
    case "shell": line(shell ?? Command.standardShell)
    case "log-limit": logLimit.map { Humanize.size(Int64($0)) } ?? "none"
    case "tty": terminal ? "on" : "off"
    case "launcher": line(launcher)
    default: keep.map { "\($0)" } ?? "all"
    }
  }
}
