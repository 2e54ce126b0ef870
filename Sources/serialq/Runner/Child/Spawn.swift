import SerialqSystem

extension JobProcess {
  /// Starts the job by `posix_spawn`; on return the program is already executing.
  ///
  /// The child leads its own session and process group, and has default actions and an empty mask
  /// for all signals. Its standard input is `/dev/null` or ``input``, and only descriptors 0, 1, 2
  /// and the lock are open.
  ///
  /// Temporarily sets the umask of the whole process, because `posix_spawn` has no other way to
  /// pass one. This is safe because only the runner's thread spawns, and because other threads
  /// create files only with mode 0600, which the umask cannot widen.
  func start() throws(Failure) -> ChildProcess {
    let words = arguments
    guard !directory.containsNUL, !words.contains(where: { $0.containsNUL }),
      !environment.contains(where: { $0.containsNUL })
    else {
      throw Failure(
        "cannot start a process", "a NUL byte cannot be passed to a program",
        next: "Remove it from the command and its environment.")
    }
    let settings = SpawnSettings(for: self)
    guard settings.error == 0 else {
      throw Self.failure("cannot start a process", settings.error)
    }
    let before = Machine.setUmask(umask)
    defer { _ = Machine.setUmask(before) }
    return try search(settings)
  }

  /// Tries the candidate paths in order, as `execvp(3)` does.
  private func search(_ settings: borrowing SpawnSettings) throws(Failure) -> ChildProcess {
    var error = ENOENT
    for path in candidates {
      let (failed, pid) = attempt(path, settings)
      switch failed {
      case 0:
        ChildProcess.started.withLock { _ = $0.insert(pid) }
        return ChildProcess(pid: pid)
      // Kept: "permission denied" is more helpful than a later "not found".
      case EACCES: error = EACCES
      case ENOENT, ENOTDIR, ESTALE, ENODEV, ETIMEDOUT: continue
      default: throw failure(failed)
      }
    }
    throw failure(error)
  }

  /// Starts the program at `path`; returns the error number, or 0 and the process ID.
  private func attempt(
    _ path: Bytes, _ settings: borrowing SpawnSettings
  ) -> (error: Int32, pid: Int32) {
    let first = settings.spawn(path, arguments, environment)
    // A script without `#!`: env(1) and shells run it with /bin/sh, so serialq does too.
    guard first.error == ENOEXEC else { return first }
    let script = [Bytes("/bin/sh"), path] + arguments.dropFirst()
    return settings.spawn(Bytes("/bin/sh"), script, environment)
  }

  /// Explains `error`.
  ///
  /// The same number can come from any step in the child. The directory is checked only after the
  /// failure: it could disappear between an earlier check and the spawn.
  private func failure(_ error: Int32) -> Failure {
    // `/.` exists only if the path is a directory with search permission.
    if let fault = Self.fault(at: directory + Bytes("/.")) {
      return Self.failure("directory \(Visible.text(directory))", fault)
    }
    let name = Visible.text(arguments.first ?? [])
    switch error {
    case ENOENT, ENOTDIR, ESTALE, ENODEV, ETIMEDOUT:
      let advice = Failure.advice(on: ENOENT, of: "posix_spawn")
      return Failure(name, notFound, next: advice, code: .notFound)
    case EAGAIN, ENOMEM, EMFILE, ENFILE, EBADF, EINVAL:
      return Self.failure("cannot start a process", error)
    default: return Self.failure(name, error, .cannotExecute)
    }
  }

  private static func failure(
    _ what: String, _ error: Int32, _ code: ExitCode = .cannot
  ) -> Failure {
    // EBADF: the limit on open files was lowered below the number of the lock.
    let error = error == EBADF ? EMFILE : error
    return Failure(
      what, String(cString: strerror(error)),
      next: Failure.advice(on: error, of: "posix_spawn"), code: code, number: error)
  }

  /// The paths at which the program may be.
  private var candidates: [Bytes] {
    ProgramSearch.candidates(for: arguments.first ?? [], environment: environment)
  }

  /// Why the program was not found, with what its name suggests.
  private var notFound: String {
    let isThere = candidates.contains { path in
      Self.fault(at: path.first == UInt8(ascii: "/") ? path : directory.appending(path: path))
        == nil
    }
    // A script whose `#!` names no program, or a binary without its loader.
    if isThere { return "its interpreter was not found" }
    return ShellQuote.meansMoreToShell(arguments.first ?? [])
      ? "not found; a shell command line is one argument, after all options, without --"
      : "not found"
  }

  /// Why the path cannot be resolved, by `stat(2)`; nil if it can.
  private static func fault(at path: Bytes) -> Int32? {
    var status = stat()
    return path.withCString { stat($0, &status) == 0 ? nil : errno }
  }
}
