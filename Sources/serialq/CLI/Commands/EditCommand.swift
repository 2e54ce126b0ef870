import SerialqQueue
import SerialqRunner
import SerialqSystem

/// `serialq edit`: changes the command of a waiting job.
struct EditCommand: Equatable {
  var queue: String
  var id: JobID
}

extension EditCommand: Subcommand {
  static let name = "edit"

  static let spec = CommandSpec(
    name: name,
    summary: "change the command of a waiting job",
    synopsis: ["edit [options] ID"],
    description: [
      """
      Opens the command in $VISUAL, else $EDITOR, else vi. The saved text becomes the job's \
      command line for /bin/sh. If the job has started in the meantime, nothing changes.
      """
    ],
    options: [.queue],
    operands: .jobID,
    examples: [Example("serialq edit 12", "job 12")]
  )

  static func takes(_ job: Job) -> Bool { job.state == .waiting }

  init(parsing words: ParsedArguments, queue: String) throws(Failure) {
    self.init(queue: queue, id: try words.oneID())
  }

  func perform(in session: inout Session) throws(Failure) -> ExitCode {
    let (folder, job) = try session.readJob(id, in: self.queue)
    try refuseUnlessWaiting(job, in: self.queue)
    let text =
      switch job.command {
      case .shell(let line): line
      case .arguments(let words): ShellQuote.script(words)
      }
    let edited = try edited(text, beside: folder)
    guard !edited.allSatisfy(\.isSpace), !edited.contains(0) else {
      let why = edited.contains(0) ? "it contains a NUL byte" : "it is empty"
      throw Failure(
        "the command of job \(job.id)", why,
        next: """
          Nothing was changed. To cancel the job: serialq \
          cancel\(QueueName.option(for: self.queue)) \(job.id)
          """)
    }
    let isNews = edited != text
    let option = QueueName.option(for: self.queue)
    try session.change(self.queue) { (queue, folder) throws(Failure) -> ([Event], Void) in
      // Appends nothing, but makes earlier events durable: the job may have been changed just
      // before.
      guard isNews else { return ([], ()) }
      let now = try queue.jobs([id...id], in: self.queue)[0]
      try refuseUnlessWaiting(now, in: self.queue)
      guard now.command == job.command else {
        throw Failure(
          "job \(job.id)", "another process has changed it in the meantime",
          next: "Nothing was changed. Check it and try again: serialq show\(option) \(job.id)")
      }
      return ([.edited(id: job.id, at: Clock.now(), command: .shell(edited))], ())
    }
    guard isNews else {
      session.output.message("serialq: job \(job.id) is unchanged")
      return .success
    }
    session.confirm("serialq: job \(job.id) is now: \(ShellQuote.command(.shell(edited)))")
    return .success
  }

  private func refuseUnlessWaiting(_ job: Job, in queue: String) throws(Failure) {
    guard job.state != .waiting else { return }
    let option = QueueName.option(for: queue)
    throw Failure(
      "job \(job.id)", "it is not waiting: it \(job.outcomeText)",
      next: "Nothing was changed. Add a new job: serialq add\(option)")
  }

  /// Edits the text in a temporary file with the user's editor.
  private func edited(_ text: Bytes, beside folder: QueueFolder) throws(Failure) -> Bytes {
    let path = folder.path.appending(path: Bytes("edit-\(Machine.processID())".utf8))
    defer { try? FileSystem.remove(path) }
    try FileDescriptor.open(path, .emptied).writeAll(text + [UInt8(ascii: "\n")])
    let named = [Machine.variable("VISUAL"), Machine.variable("EDITOR")]
    let editor = named.compactMap { $0 }.first { !$0.isEmpty } ?? Bytes("vi")
    // Run by a shell, because the variable may contain arguments.
    let status = try Editor.run([
      Bytes("/bin/sh"), Bytes("-c"), editor + Bytes(" \"$1\""), editor, path,
    ])
    guard status == .exited(0) else {
      throw Failure(
        "the editor \(Visible.text(editor))", "it failed",
        next: "Nothing was changed. Set VISUAL or EDITOR to use another editor.")
    }
    // Without checks: some editors replace the file with a new one.
    var edited = try FileDescriptor.open(path, .read, followingLinks: true).readAll()
    if edited.last == UInt8(ascii: "\n") { edited.removeLast() }
    return edited
  }
}

/// Runs a program in the foreground of the terminal.
private enum Editor {
  static func run(_ words: [Bytes]) throws(Failure) -> Ending {
    // Ignored in this process, as system(3) does: Ctrl-C is meant for the editor.
    let before = [SIGINT, SIGQUIT].map { ($0, signal($0, SIG_IGN)) }
    defer { for (number, handler) in before { signal(number, handler) } }
    #if canImport(Glibc)
      var attributes = posix_spawnattr_t()
    #else
      var attributes: posix_spawnattr_t?
    #endif
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var defaults = sigset_t()
    sigemptyset(&defaults)
    for number in [SIGINT, SIGQUIT, SIGPIPE] { sigaddset(&defaults, number) }
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    var pid: pid_t = 0
    let error = words.withCStrings { words in
      Machine.environment().withCStrings { environment in
        posix_spawn(&pid, "/bin/sh", nil, &attributes, words, environment)
      }
    }
    guard error == 0 else { throw Failure("posix_spawn", error, "starting the editor") }
    return try ChildProcess(pid: pid).reap()
  }
}
