import SerialqSystem

/// The attributes and file actions of `posix_spawn(3)` for one process.
struct SpawnSettings: ~Copyable {
  #if canImport(Glibc)
    private var attributes = posix_spawnattr_t()
    private var actions = posix_spawn_file_actions_t()
  #else
    private var attributes: posix_spawnattr_t?
    private var actions: posix_spawn_file_actions_t?
  #endif

  /// The error number of the preparation; 0 on success.
  private(set) var error: Int32 = 0

  init(for job: JobProcess) {
    posix_spawnattr_init(&attributes)
    posix_spawn_file_actions_init(&actions)
    error = prepare(job)
  }

  deinit {
    var (attributes, actions) = (attributes, actions)
    posix_spawnattr_destroy(&attributes)
    posix_spawn_file_actions_destroy(&actions)
  }

  /// Starts the program at `path`; returns the error number, or 0 and the process ID.
  func spawn(
    _ path: Bytes, _ arguments: [Bytes], _ environment: [Bytes]
  ) -> (error: Int32, pid: Int32) {
    var (attributes, actions) = (attributes, actions)
    var pid: pid_t = 0
    let error = path.withCString { path in
      arguments.withCStrings { arguments in
        environment.withCStrings { environment in
          posix_spawn(&pid, path, &actions, &attributes, arguments, environment)
        }
      }
    }
    return (error, pid)
  }

  /// Returns the first error number, or 0.
  private mutating func prepare(_ job: JobProcess) -> Int32 {
    let inherits = if case .inherited = job.streams { true } else { false }
    // SIGPIPE and SIGXFSZ are ignored by serialq itself, and the others by ``Foreground``.
    var defaults = inherits ? signalSet([SIGINT, SIGQUIT, SIGPIPE, SIGXFSZ]) : Self.allSignals
    var blocked = signalSet(job.blockedSignal.map { [$0] } ?? [])
    var errors = [
      posix_spawnattr_setsigdefault(&attributes, &defaults),
      posix_spawnattr_setsigmask(&attributes, &blocked),
      posix_spawnattr_setflags(&attributes, Self.flags(leadsSession: !inherits)),
    ]
    // First, because all later paths may be relative to it.
    if !inherits {
      errors.append(
        job.directory.withCString { posix_spawn_file_actions_addchdir_np(&actions, $0) })
    }
    errors += prepareDescriptors(job)
    return errors.first { $0 != 0 } ?? 0
  }

  private static var allSignals: sigset_t {
    var all = sigset_t()
    sigfillset(&all)
    #if canImport(Glibc)
      // glibc leaves out the signals that it uses itself, 32 and 33, and then ignores them in the
      // child.
      withUnsafeMutableBytes(of: &all) {
        $0.copyBytes(from: repeatElement(UInt8.max, count: $0.count))
      }
    #endif
    // These two cannot be changed, and some systems then reject the whole set.
    sigdelset(&all, SIGKILL)
    sigdelset(&all, SIGSTOP)
    return all
  }

  /// The flags that set the mask and the actions of signals, and start a session.
  ///
  /// A session leader also leads a process group. In the terminal's session, a program that
  /// prompts, such as sudo or ssh, would be stopped by SIGTTIN as a background group, and block the
  /// queue forever without a message.
  private static func flags(leadsSession: Bool) -> Int16 {
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

  /// Prepares the descriptors of the child.
  ///
  /// The order matters: the output or the input may have the number of another, so both are copied
  /// before it is overwritten. Descriptor 0 may be the output, which is copied first.
  private mutating func prepareDescriptors(_ job: JobProcess) -> [Int32] {
    var errors = prepareStreams(job.streams)
    #if canImport(Glibc)
      // serialq opens its own files close-on-exec, but descriptors that it inherited would leak
      // into the job. An action can close all from a number on, but no range below the lock.
      let free = STDERR_FILENO + 1
      if let lock = job.lock?.raw {
        errors += [
          posix_spawn_file_actions_adddup2(&actions, lock, free),
          posix_spawn_file_actions_addclosefrom_np(&actions, free + 1),
          posix_spawn_file_actions_adddup2(&actions, free, JobProcess.lockDescriptor),
          posix_spawn_file_actions_addclose(&actions, free),
        ]
      } else {
        errors.append(posix_spawn_file_actions_addclosefrom_np(&actions, free))
      }
    #else
      if let lock = job.lock?.raw {
        errors.append(posix_spawn_file_actions_adddup2(&actions, lock, JobProcess.lockDescriptor))
      }
    #endif
    return errors
  }

  private mutating func prepareStreams(_ streams: JobProcess.Streams) -> [Int32] {
    switch streams {
    case .inherited: return []
    case .files(let input, let output):
      return [
        posix_spawn_file_actions_adddup2(&actions, output.raw, STDOUT_FILENO),
        posix_spawn_file_actions_adddup2(&actions, output.raw, STDERR_FILENO),
        input.map { posix_spawn_file_actions_adddup2(&actions, $0.raw, STDIN_FILENO) }
          ?? posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
      ]
    case .terminal(let path):
      // The first terminal that a session leader opens becomes its controlling terminal. The
      // session is created before the file actions.
      return path.withCString { path in
        [
          posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, path, O_RDWR, 0),
          posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO),
          posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDERR_FILENO),
        ]
      }
    }
  }
}
