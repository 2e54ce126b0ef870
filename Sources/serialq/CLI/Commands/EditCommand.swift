import SerialqQueue
import SerialqRunner
import SerialqSystem
import SerialqWatch

/// `serialq edit`: changes a job that is not running.
struct EditCommand: Equatable {
  var queue: String
  var job: JobSelection
  /// Without any, the user edits the command in an editor.
  var changes: JobChanges
}

extension EditCommand: Subcommand {
  static let spec = CommandSpec(
    name: .edit,
    summary: "change a job, and queue it again if it is finished",
    synopsis: [
      "edit [options] ID", "edit [options] ID 'COMMAND LINE'",
      "edit [options] ID [--] PROGRAM ARGUMENT...", "edit [options] ID -c LINE",
    ],
    description: [
      """
      Changes the command of a waiting job, and what the options say; all else stays. A finished \
      job is changed and waits again, as after serialq retry. A running job is refused.
      """,
      """
      Without a command and options, opens the command in $VISUAL, else $EDITOR, else vi. The \
      saved text becomes the job's command line for the shell. If the job has started in the \
      meantime, nothing changes.
      """,
    ],
    options: [.queue] + JobChanges.options,
    operands: .jobIDAndCommand,
    examples: [
      Example("serialq edit 12", "job 12, in the editor"),
      Example("serialq edit 12 'make -j4'", "a new command line"),
      Example("serialq edit 12 -C build -e CC=clang", "directory, variable"),
    ]
  )

  static func takes(_ job: Job) -> Bool { job.state != .running }

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    var first = words
    first.operands = Array(words.operands.prefix(1))
    self.init(
      queue: queue, job: try first.oneJob(),
      changes: try JobChanges(parsing: words, queue: queue))
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let (folder, _, jobs) = try session.readJobs(self.job, in: self.queue)
    // One, because the selection names one.
    guard let job = jobs.first else { return .success }
    try refuseRunning(job)
    guard changes.isEmpty else { return try edit(job, by: changes, in: &session) }
    removeTexts(of: folder)
    let text = folder.path.appending(path: Bytes("edit-\(Machine.processID())".utf8))
    defer { try? FileSystem.remove(text) }
    var changes = changes
    changes.command = try commandByHand(job, text)
    do throws(Failure) {
      return try edit(job, by: changes, isByHand: true, in: &session)
    } catch {
      let kept = folder.path.appending(path: Bytes("edited"))
      guard changes.command != nil, (try? FileSystem.rename(text, to: kept)) != nil else {
        throw error
      }
      throw error.noting("Your text is in \(ShellQuote.word(kept)).")
    }
  }

  private func edit(
    _ job: Job, by changes: JobChanges, isByHand: Bool = false, in session: inout Session
  ) throws(Failure) -> ExitCode {
    var isPaused = false
    var skipped: [Job] = []
    let edited = try session.change(self.queue) { (edited, scope) throws(Failure) -> Job? in
      let now = try edited.queue.job(JobSelection(job.id), in: self.queue)
      if isByHand {
        // Appends nothing, but makes earlier lines durable: the job may have been changed just
        // before.
        guard changes.command != nil else { return nil }
        try refuseChanged(job, now)
      }
      try refuseRunning(now)
      let spec = try changes.applied(to: now, in: edited.queue, scope)
      if now.state == .waiting, spec == now.spec, !changes.hasConditions { return nil }
      if now.state.isOver {
        let all = edited.queue.withSkipped([now])
        skipped = all.filter { $0.id != now.id }
        edited.retry(all, first: false)
      }
      edited.edit(now.id, to: spec, checks: changes.hasConditions)
      return now
    } then: { (folder, queue) throws(Failure) in
      isPaused = queue.isPaused
      if job.state.isOver { try session.startRunner(folder, queue) }
    }
    guard let before = edited else {
      session.output.message("serialq: job \(job.id) is unchanged")
      return .success
    }
    if let directory = changes.options.directory {
      Submission.reportMissing(try Submission.directory(directory), to: session.output)
    }
    let again = before.state.isOver ? " and queued again\(skipped.following("it"))" : ""
    let command = changes.command.map { ": \(ShellQuote.command($0).cut(to: 200))" } ?? ""
    session.confirm("serialq: job \(job.id) is changed\(again)\(command)")
    if isPaused, before.state.isOver { session.reportPaused(self.queue) }
    return .success
  }

  /// Refuses a running job.
  private func refuseRunning(_ job: Job) throws(Failure) {
    guard job.state == .running else { return }
    throw Failure(
      "job \(job.id)", "it is running",
      next: """
        Nothing was changed. Edit it after its end, or end it: \
        \(advised("cancel", in: queue)) \(job.id)
        """)
  }

  /// Refuses a job that is not as it was when the editor was opened.
  private func refuseChanged(_ job: Job, _ now: Job) throws(Failure) {
    if job.state == .waiting, now.state != .waiting {
      throw Failure(
        "job \(job.id)", "it is not waiting: it \(now.outcomeText)",
        next: """
          Nothing was changed. Edit it again to queue it again: \
          \(advised("edit", in: queue)) \(job.id)
          """)
    }
    guard now.command != job.command || now.state != job.state else { return }
    throw Failure(
      "job \(job.id)", "another process has changed it in the meantime",
      next: "Nothing was changed. Check it and try again: \(advised("show", in: queue)) \(job.id)")
  }

  /// The command from the editor; nil if it is unchanged.
  private func commandByHand(_ job: Job, _ path: Bytes) throws(Failure) -> Command? {
    let text =
      switch job.command {
      case .shell(let line): line
      case .arguments(let words): ShellQuote.script(words)
      }
    let edited = try edited(text, in: path)
    guard !edited.allSatisfy(\.isSpace), !edited.contains(0) else {
      let why = edited.contains(0) ? "it contains a NUL byte" : "it is empty"
      throw changes.refusal(of: job.id, why)
    }
    return edited == text ? nil : .shell(edited)
  }

  /// Removes the texts of processes that were killed while their editors were open.
  private func removeTexts(of folder: QueueFolder) {
    let prefix = Bytes("edit-")
    for name in (try? FileSystem.names(in: folder.path)) ?? [] where name.starts(with: prefix) {
      guard let pid = Int32(Bytes(name.dropFirst(prefix.count)).text), pid > 1,
        ProcessHandle(pid).send(0) == ESRCH
      else { continue }
      try? FileSystem.remove(folder.path.appending(path: name))
    }
  }

  /// Edits the text in a temporary file with the user's editor.
  private func edited(_ text: Bytes, in path: Bytes) throws(Failure) -> Bytes {
    try FileDescriptor.open(path, .emptied).writeAll(text + [UInt8(ascii: "\n")])
    let named = [Machine.variable("VISUAL"), Machine.variable("EDITOR")]
    let editor = named.compactMap { $0 }.first { !$0.isEmpty } ?? Bytes("vi")
    // Run by a shell, because the variable may contain arguments. Without the trap, Ctrl-C that the
    // editor survives ends the shell after it.
    let line = Bytes("trap : INT QUIT\n") + editor + Bytes(" \"$1\"")
    let status = try Foreground.run([Bytes("/bin/sh"), Bytes("-c"), line, editor, path])
    guard status == .exited(0) else {
      var failure = Failure(
        "the editor \(Visible.text(editor))", "it failed",
        next: "Nothing was changed. Set VISUAL or EDITOR to use another editor.")
      if case .killed(let signal) = status, [SIGTERM, SIGHUP].contains(signal) {
        failure.code = .ended(by: signal)
      }
      throw failure
    }
    // Without checks: some editors replace the file with a new one.
    var edited = try FileDescriptor.open(path, .read, followingLinks: true).readAll()
    if edited.last == UInt8(ascii: "\n") { edited.removeLast() }
    return edited
  }
}
