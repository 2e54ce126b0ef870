import SerialqQueue
import SerialqRunner
import SerialqSystem

/// `serialq set`: shows or changes the settings of a queue.
struct SetCommand: Equatable {
  var queue: String
  /// Nil for all.
  var setting: Setting?
  /// Nil shows it; empty removes it.
  var value: Bytes?
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

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queue: queue)
    guard let name = words.operands.first else { return }
    let setting = try Setting.named(name, in: words)
    self.setting = setting
    guard words.operands.count > 1 else { return }
    guard words.operands.count == 2 else { throw words.misused(name.text, "takes only one value") }
    value = try setting.parse(words.operands[1], in: words)
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    guard let setting, let value else {
      let found = try session.readQueue(named: queue)?.1
      if found == nil { session.reportNoJobs(in: queue) }
      let properties = found?.properties ?? QueueProperties()
      let table = Setting.all.map { "\($0.name.padded(to: 12))\($0.text(in: properties))\n" }
      session.output.result(setting.map { $0.text(in: properties) + "\n" } ?? table.joined())
      return .success
    }
    if case .shell = setting.kind, !value.isEmpty, try !FileSystem.isExecutable(value) {
      throw Failure(
        Visible.text(value), "not a program that you can execute",
        next: "Nothing was changed. List shells with: cat /etc/shells")
    }
    // A queue can be configured before its first job.
    let (folder, isNew) = try session.spool().makeQueue(named: queue)
    var before = Queue()
    let forgotten = try session.change(queue) { (changes, scope) throws(Failure) in
      before = changes.queue
      var properties = before.properties
      try setting.store(value, in: &properties, scope)
      changes.append(.queue(properties))
      let forgotten = setting == .keep ? changes.queue.forgetting() : []
      for entry in forgotten { changes.append(entry) }
      return forgotten.flatMap(\.forgottenIDs)
    }
    // After the lines are durable: a log must not be lost while its job can reappear.
    folder.removeFiles(of: forgotten, in: before)
    if isNew { session.reportNoJobs(in: queue) }
    if case .launcher = setting.kind, !value.isEmpty { warn(value, in: session) }
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
}
