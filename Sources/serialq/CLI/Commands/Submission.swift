import SerialqQueue
import SerialqRunner
import SerialqSystem
import SerialqWatch

/// Adds jobs to a queue, for `add` and `run`.
struct Submission {
  var commands: [Command]
  var directory: Bytes
  var environment: [Bytes]
  var umask: UInt16
  /// The path of the input; nil if there is none, or a copy.
  var input: Bytes?
  var terminal: JobTerminal?
  var options: JobOptions

  struct Added {
    /// Ascending; the ids of new jobs, and of ``found`` ones.
    var ids: [JobID]
    /// Jobs because of which none was added.
    var found: [JobID] = []
    /// What they have or do, as a phrase to follow "job 3".
    var has = "is waiting with the same command"
    var isPaused = false
    /// Why the start of a runner failed.
    var failure: Failure?
  }

  /// Prepares jobs with the directory, environment and umask of this process.
  init(_ source: JobSource, _ options: JobOptions) throws(Failure) {
    commands = try Submission.commands(of: source)
    directory = try Submission.directory(options.directory)
    environment = Machine.environment().overridden(by: options.environment)
    umask = Machine.umask()
    input = try Submission.input(options.input)
    terminal = options.hasTerminal == true ? .ofCaller : nil
    self.options = options
    let limits = ExecutionLimits.current
    for command in commands {
      guard let fault = limits.fault(in: command, environment: environment) else { continue }
      throw Failure(
        ShellQuote.command(command).cut(to: 60), fault,
        next: "Nothing was queued. Write the data to a file, and queue a command that reads it.")
    }
  }

  /// Says that the directory or the input given as an option does not exist; an earlier job may
  /// create it.
  func reportMissingFiles(to output: Output) {
    if options.directory != nil { Self.reportMissing(directory, to: output) }
    if let input { Self.reportMissing(input, "file", to: output) }
  }

  static func reportMissing(_ path: Bytes, _ kind: String = "directory", to output: Output) {
    // A path that cannot be examined may well exist for the job.
    guard path.withCString({ access($0, F_OK) }) != 0, errno == ENOENT else { return }
    output.message(
      """
      serialq: \(Visible.text(path)): no such \(kind) yet
      The job fails unless an earlier job creates it.
      """)
  }

  /// Appends all jobs or none; on return they are durable, and a runner is active unless the queue
  /// is paused.
  ///
  /// Fails if the queue is paused and `refusesPause` is set. Adds nothing if the queue has jobs
  /// with this `key`. Reads the whole journal only to find that, identical waiting jobs, or those
  /// that must succeed first.
  func append(
    to folder: QueueFolder, startsRunner: Bool, refusesPause: Bool = false, key: Bytes? = nil
  ) throws(Failure) -> Added {
    var reader = JournalReader(folder)
    // Before the lock: it can be long.
    let copy: InputCopy? =
      if options.input == Submission.standardInput {
        try InputCopy(of: .standardInput(), in: folder)
      } else {
        nil
      }
    // Reads most of the journal before the lock, to hold it only briefly.
    let readsJobs = options.isUnique || !options.after.isEmpty || key != nil
    if readsJobs { try reader.read() }
    return try Journal(folder).locked { (scope) throws(Failure) in
      if readsJobs { try scope.read(&reader) }
      let known = key.map { key in reader.queue.jobs.filter { $0.key == key }.map(\.id) } ?? []
      if !known.isEmpty {
        try scope.flush()
        return try started(
          Added(ids: known, found: known, has: "has the same key"), folder, &scope, startsRunner)
      }
      // Under the lock: a pause that follows a check before it would leave the jobs waiting.
      if refusesPause, try scope.isPaused() {
        try scope.read(&reader)
        var failure = reader.queue.blocked(named: folder.name).noting("Nothing was queued.")
        failure.code = .cannot
        throw failure
      }
      let (commands, found) = options.isUnique ? unknown(to: reader.queue) : (commands, [])
      var added = Added(ids: [], found: found)
      let new = try append(
        commands, copy, key, to: &scope, of: reader.queue, named: folder.name)
      added.ids = found.isEmpty ? new : Set(new + found).sorted()
      return try started(added, folder, &scope, startsRunner)
    }
  }

  /// Starts a runner if one is wanted and the queue is not paused.
  private func started(
    _ added: Added, _ folder: QueueFolder, _ scope: inout JournalScope, _ startsRunner: Bool
  ) throws(Failure) -> Added {
    var added = added
    added.isPaused = try scope.isPaused()
    guard startsRunner, !added.isPaused else { return added }
    do throws(Failure) {
      // Under the lock, under which a runner also decides that the queue is empty.
      try BackgroundRunner.own.ensure(folder)
    } catch {
      added.failure = error
    }
    return added
  }

  /// Appends the jobs; returns their ids.
  private func append(
    _ commands: [Command], _ copy: InputCopy?, _ key: Bytes?, to scope: inout JournalScope,
    of queue: Queue, named name: String
  ) throws(Failure) -> [JobID] {
    var limits = options.limits()
    limits.after = try required(in: queue, named: name)
    guard !commands.isEmpty else {
      try scope.append([])
      return []
    }
    let context = ExecutionContext(
      directory: directory, environment: try scope.storeEnvironment(environment), umask: umask)
    let first = try scope.nextID()
    let at = Clock.now()
    let ids = Array(first..<first + commands.count)
    try copy?.keep(for: first, in: scope)
    let input = copy == nil ? input.map { Input.file($0) } : .copy(first)
    var details = JobSpec.Details.none
    (details.label, details.input, details.terminal) = (options.label, input, terminal)
    (details.key, details.limits) = (key, limits)
    var entries = zip(ids, commands).map { id, command in
      Entry.job(id, JobSpec(command, in: context, details, added: at))
    }
    if options.isFirst {
      // Keeps the order of jobs that are added together.
      for (number, id) in ids.enumerated() {
        let rank = Rank.first(number + 1, upTo: first + commands.count - 1)
        entries += [JobStatus().moved(to: rank)].compactMap { $0.map { .status(id, $0) } }
      }
      // Only these can stand before a job that they require.
      if !limits.after.isEmpty {
        var changes = QueueChanges(queue, entries)
        changes.putInOrder()
        entries = changes.entries
      }
    }
    do throws(Failure) {
      try scope.append(entries)
      return ids
    } catch {
      copy?.remove(keptFor: first)
      throw error
    }
  }

  /// The jobs that must succeed first.
  private func required(
    in queue: Queue, named name: String
  ) throws(Failure) -> [ClosedRange<JobID>] {
    do throws(Failure) {
      return try queue.ranges(of: options.after, in: name)
    } catch {
      throw error.adding(
        "Nothing was queued. See the jobs: \(advised("list", in: name))")
    }
  }

  /// The commands to add, without duplicates, and the jobs in this directory that already wait with
  /// one of the others.
  private func unknown(to queue: Queue) -> ([Command], found: [JobID]) {
    var new: [Command] = []
    var found: [JobID] = []
    let input = input.map { Input.file($0) }
    let waiting = queue.waiting.filter {
      $0.context.directory == directory && $0.input == input
    }
    for command in commands where !new.contains(command) {
      if let job = waiting.first(where: { $0.command == command }) {
        found.append(job.id)
      } else {
        new.append(command)
      }
    }
    return (new, found)
  }

  private static func commands(of source: JobSource) throws(Failure) -> [Command] {
    switch source {
    case .command(let command): return [command]
    case .file(let path) where path == Bytes("-"):
      let text = try FileDescriptor.standardInput().readAll()
      return try JobFile.commands(in: text, from: Bytes("standard input"))
    case .file(let path):
      let text = try FileDescriptor.open(path, .read, followingLinks: true).readAll()
      return try JobFile.commands(in: text, from: path)
    }
  }

  static func directory(_ option: Bytes?) throws(Failure) -> Bytes {
    var path = option ?? []
    if path.first != UInt8(ascii: "/") {
      let current = try Machine.directory()
      path = option.map { current.appending(path: $0) } ?? current
    }
    guard path.count <= FileSystem.longestPath else {
      throw Failure(
        "the path \(path.text)",
        "it has \(path.count) bytes, more than the system allows in a path",
        next: "Nothing was changed. Use a path of at most \(FileSystem.longestPath) bytes.")
    }
    return path
  }

  /// As the value of an option for a file.
  private static let standardInput = Bytes("-")

  private static func input(_ option: Bytes?) throws(Failure) -> Bytes? {
    guard let option, option != standardInput else { return nil }
    let path = try directory(option)
    // Not a file of the job. Such a path can also be one of this process, as `<(command)` is.
    let kind = (try? FileSystem.status(of: path, followingLinks: true))?.kind
    let isOwn = [Bytes("/dev/"), Bytes("/proc/")].contains { path.starts(with: $0) }
    guard kind ?? .file == .file, !isOwn else {
      throw Failure(
        "the input \(Visible.text(option))", "it is not a regular file",
        next: "Nothing was queued. To queue a copy of its content, use: --input - <FILE")
    }
    return path
  }
}

extension JobTerminal {
  /// A terminal of the size of the one from which this process was started, if it was.
  static var ofCaller: JobTerminal {
    let own = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].first { isatty($0) == 1 }
    guard let own else { return .unknownSize }
    let window = TerminalWindow(of: own)
    return JobTerminal(rows: window.rows, columns: window.columns)
  }
}
