/// How a process that talks to this one is started: unlike a job, with streams of its own each.
package struct ProcessStart {
  /// The program, searched for in PATH unless its name has a slash, and its arguments.
  package var words: [Bytes]
  /// All `NAME=VALUE` entries; nil for those of this process.
  package var environment: [Bytes]?
  /// The path of a terminal that becomes the controlling one of a new session; nil for none.
  package var terminal: Bytes?
  /// The descriptors for standard input, output and error; nil for the terminal.
  package var streams: [Int32?]
  /// Whether the process leads a session, so that no signal of this terminal reaches it.
  package var leadsSession: Bool
  /// The signals whose default actions it gets back; all others it inherits.
  package var defaultSignals: [Int32]
  /// The signals that it does not receive, also if it installs a handler.
  package var blockedSignals: [Int32]

  package init(
    _ words: [Bytes], environment: [Bytes]? = nil, terminal: Bytes? = nil, streams: [Int32?],
    leadsSession: Bool, defaultSignals: [Int32], blockedSignals: [Int32] = []
  ) {
    self.words = words
    self.environment = environment
    self.terminal = terminal
    self.streams = streams
    self.leadsSession = leadsSession
    self.defaultSignals = defaultSignals
    self.blockedSignals = blockedSignals
  }

  /// Starts the process by `posix_spawnp(3)`; returns its ID.
  ///
  /// It inherits no other descriptor. The lock of a job from which this process was started would
  /// otherwise last as long as the new process.
  package func start() throws(Failure) -> Int32 {
    #if canImport(Glibc)
      var attributes = posix_spawnattr_t()
      var actions = posix_spawn_file_actions_t()
    #else
      var attributes: posix_spawnattr_t?
      var actions: posix_spawn_file_actions_t?
    #endif
    posix_spawnattr_init(&attributes)
    posix_spawn_file_actions_init(&actions)
    defer {
      posix_spawnattr_destroy(&attributes)
      posix_spawn_file_actions_destroy(&actions)
    }
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in blockedSignals { sigaddset(&signals, signal) }
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigemptyset(&signals)
    for signal in defaultSignals { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Self.flags(leadsSession: leadsSession))
    if let terminal {
      // The first terminal that a session leader opens becomes its controlling terminal.
      _ = terminal.withCString { path in
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, path, O_RDWR, 0)
      }
    }
    // Standard input last: until then its number has the terminal.
    for (target, source) in streams.enumerated().reversed() {
      guard let source = source ?? (terminal == nil || target == 0 ? nil : STDIN_FILENO) else {
        continue
      }
      posix_spawn_file_actions_adddup2(&actions, source, Int32(target))
    }
    #if canImport(Glibc)
      posix_spawn_file_actions_addclosefrom_np(&actions, 3)
    #endif
    var pid: pid_t = 0
    let error = words.withCStrings { words in
      (environment ?? Machine.environment()).withCStrings { environment in
        words[0].map { posix_spawnp(&pid, $0, &actions, &attributes, words, environment) } ?? ENOENT
      }
    }
    guard error == 0 else { throw Failure("posix_spawnp", error, "starting", words.first ?? []) }
    return pid
  }

  /// The flags for `posix_spawnattr_setflags(3)` that set the mask and the actions of signals.
  package static func flags(leadsSession: Bool) -> Int16 {
    #if canImport(Glibc)
      // POSIX_SPAWN_SETSID, a macro that Swift does not import.
      let session: Int32 = 0x80
      let flags = Int32(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)
    #else
      let session = Int32(POSIX_SPAWN_SETSID)
      let flags = Int32(
        POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_CLOEXEC_DEFAULT)
    #endif
    return Int16(leadsSession ? flags | session : flags)
  }
}
