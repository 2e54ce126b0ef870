import SerialqSystem

/// The attributes and file actions of `posix_spawn(3)` for one job.
struct SpawnSettings: ~Copyable {
  #if canImport(Glibc)
    private var attributes = posix_spawnattr_t()
    private var actions = posix_spawn_file_actions_t()
  #else
    private var attributes: posix_spawnattr_t?
    private var actions: posix_spawn_file_actions_t?
  #endif

  /// Why they cannot be used, as an error number; 0 if they can.
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

  /// Starts the program at `path`; gives the error number, or 0 and the process.
  func spawn(
    _ path: Bytes, _ arguments: [Bytes], _ environment: [Bytes]
  ) -> (error: Int32, pid: Int32) {
    var (attributes, actions) = (attributes, actions)
    var pid: pid_t = 0
    let error = CStrings.with(path) { path in
      CStrings.with(arguments) { arguments in
        CStrings.with(environment) { environment in
          posix_spawn(&pid, path, &actions, &attributes, arguments, environment)
        }
      }
    }
    return (error, pid)
  }

  /// Gives the first error number, or 0.
  private mutating func prepare(_ job: JobProcess) -> Int32 {
    var errors = prepareAttributes()
    // The directory first: every path after it may be relative, and is meant from there.
    errors.append(
      CStrings.with(job.directory) { posix_spawn_file_actions_addchdir_np(&actions, $0) }
    )
    errors += prepareDescriptors(job)
    return errors.first { $0 != 0 } ?? 0
  }

  private mutating func prepareAttributes() -> [Int32] {
    var all = sigset_t()
    sigfillset(&all)
    // These two cannot be set, and some systems refuse the whole set because of them.
    sigdelset(&all, SIGKILL)
    sigdelset(&all, SIGSTOP)
    var none = sigset_t()
    sigemptyset(&none)
    #if canImport(Glibc)
      // A constant of the header that does not come through.
      let session: Int32 = 0x80
      var flags = Int32(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)
    #else
      let session = Int32(POSIX_SPAWN_SETSID)
      var flags = Int32(
        POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_CLOEXEC_DEFAULT)
    #endif
    // Who leads a session leads a process group. In the session of a terminal whoever asks there, such
    // as sudo or ssh, would be stopped by SIGTTIN, as its group is not in the foreground, and would hold
    // up the queue for ever without a word.
    flags |= session
    return [
      posix_spawnattr_setsigdefault(&attributes, &all),
      posix_spawnattr_setsigmask(&attributes, &none),
      posix_spawnattr_setflags(&attributes, Int16(flags)),
    ]
  }

  /// The order matters: the output is copied before 63 is overwritten, which it could be itself,
  /// and 0 is overwritten last.
  private mutating func prepareDescriptors(_ job: JobProcess) -> [Int32] {
    let lock = JobProcess.lockDescriptor
    var errors = [
      posix_spawn_file_actions_adddup2(&actions, job.output, STDOUT_FILENO),
      posix_spawn_file_actions_adddup2(&actions, job.output, STDERR_FILENO),
      job.lock.map { posix_spawn_file_actions_adddup2(&actions, $0, lock) } ?? 0,
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0),
    ]
    #if canImport(Glibc)
      // What serialq opens closes by itself. What it was started with does not, and would go on
      // to the job: closing a number that is not open is no error here.
      for descriptor in 3..<lock {
        errors.append(posix_spawn_file_actions_addclose(&actions, descriptor))
      }
      errors.append(
        posix_spawn_file_actions_addclosefrom_np(&actions, lock + (job.lock == nil ? 0 : 1)))
    #endif
    return errors
  }
}
