/// Puts jobs into a queue, for `add` and `run`.
struct Adding {
  var commands: [Command]
  var directory: Bytes
  var environment: [Bytes]
  var umask: UInt16
  var label: Bytes?

  /// Jobs as this process would run them: its directory, environment and umask.
  init(_ source: JobSource, _ options: JobOptions) throws(Failure) {
    commands = try Adding.commands(of: source)
    directory = try Adding.directory(options.directory)
    environment = Adding.environment(overriding: options.environment)
    umask = Machine.umask()
    label = options.label
  }

  /// Appends the jobs, all or none; they are durable when this returns.
  func append(to folder: QueueFolder) throws(Failure) -> ClosedRange<JobID> {
    try Journal(folder).locked { (scope) throws(Failure) in
      let key = try scope.storeEnvironment(environment)
      let first = try scope.nextID()
      let at = Clock.now()
      let events = commands.enumerated().map { offset, command in
        Event.added(
          NewJob(
            id: first + offset, command: command, directory: directory, environment: key,
            umask: umask, label: label, at: at))
      }
      try scope.append(events)
      return first...(first + commands.count - 1)
    }
  }

  private static func commands(of source: JobSource) throws(Failure) -> [Command] {
    switch source {
    case .command(let command): return [command]
    case .file(let path) where path == Bytes("-"):
      let text = try attempt("reading standard input") { () throws(SystemError) in
        try FileDescriptor.standardInput().readAll()
      }
      return try JobFile.commands(in: text, from: Bytes("standard input"))
    case .file(let path):
      let text = try attempt("reading \(Visible.text(path))") { () throws(SystemError) in
        try FileDescriptor.open(path, .read, followingLinks: true).readAll()
      }
      return try JobFile.commands(in: text, from: path)
    }
  }

  private static func directory(_ option: Bytes?) throws(Failure) -> Bytes {
    if let option, option.first == UInt8(ascii: "/") { return option }
    let current = try attempt("finding the current directory") { () throws(SystemError) in
      try Machine.directory()
    }
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
