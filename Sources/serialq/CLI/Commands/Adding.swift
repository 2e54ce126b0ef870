import SerialqQueue
import SerialqRunner
import SerialqSystem

/// Adds jobs to a queue, for `add` and `run`.
struct Adding {
  var commands: [Command]
  var directory: Bytes
  var environment: [Bytes]
  var umask: UInt16
  var options: JobOptions

  struct Added {
    /// Ascending; the ids of new jobs, and of identical ones that were already waiting.
    var ids: [JobID]
    /// Identical jobs that were already waiting, so that none was added.
    var found: [JobID] = []
    var isPaused = false
    /// Why the start of a runner failed.
    var failure: Failure?
  }

  /// Prepares jobs with the directory, environment and umask of this process.
  init(_ source: JobSource, _ options: JobOptions) throws(Failure) {
    commands = try Adding.commands(of: source)
    directory = try Adding.directory(options.directory)
    environment = Adding.environment(overriding: options.environment)
    umask = Machine.umask()
    self.options = options
  }

  /// Appends all jobs or none; on return they are durable, and a runner is active unless the queue
  /// is paused.
  ///
  /// Reads the whole journal only to find identical waiting jobs.
  func append(to folder: QueueFolder, startsRunner: Bool) throws(Failure) -> Added {
    var reader = JournalReader(folder)
    // Reads most of the journal before the lock, to hold it only briefly.
    if options.isUnique { try reader.read() }
    return try Journal(folder).locked { (scope) throws(Failure) in
      if options.isUnique { try reader.read() }
      let (commands, found) = options.isUnique ? unknown(to: reader.queue) : (commands, [])
      let ids = try append(commands, to: &scope)
      var added = Added(ids: ids, found: found)
      if !found.isEmpty { added.ids = Set(ids + found).sorted() }
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
  }

  private func append(
    _ commands: [Command], to scope: inout JournalScope
  ) throws(Failure) -> [JobID] {
    guard !commands.isEmpty else {
      try scope.append([])
      return []
    }
    let context = ExecutionContext(
      directory: directory, environment: try scope.storeEnvironment(environment), umask: umask)
    let first = try scope.nextID()
    let at = Clock.now()
    let ids = Array(first..<first + commands.count)
    try scope.append(
      zip(ids, commands).map { id, command in
        // Keeps the order of jobs that are added together.
        let place: Place = !options.isFirst ? .last : id == first ? .first : .after(id - 1)
        return .added(
          NewJob(
            id: id, Payload(command, in: context, label: options.label), limits: options.limits,
            place: place, at: at))
      })
    return ids
  }

  /// The commands to add, without duplicates, and the jobs in this directory that already wait with
  /// one of the others.
  private func unknown(to queue: Queue) -> ([Command], found: [JobID]) {
    var new: [Command] = []
    var found: [JobID] = []
    let waiting = queue.waiting.filter { $0.context.directory == directory }
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

  private static func directory(_ option: Bytes?) throws(Failure) -> Bytes {
    if let option, option.first == UInt8(ascii: "/") { return option }
    let current = try Machine.directory()
    return option.map { current.appending(path: $0) } ?? current
  }

  private static func environment(overriding settings: [Bytes]) -> [Bytes] {
    func name(_ variable: Bytes) -> Bytes { Bytes(variable.prefix { $0 != UInt8(ascii: "=") }) }
    guard !settings.isEmpty else { return Machine.environment() }
    var last: [Bytes: Bytes] = [:]
    for setting in settings { last[name(setting)] = setting }
    let kept = Machine.environment().filter { last[name($0)] == nil }
    return kept + last.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
  }
}
