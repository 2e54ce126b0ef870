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
  func start() -> Started {
    let words = arguments
    guard !directory.containsNUL, !words.contains(where: { $0.containsNUL }),
      !environment.contains(where: { $0.containsNUL })
    else {
      return .cannotRun(.cannot, reason: "a NUL byte cannot be passed to a program")
    }
    let settings = SpawnSettings(for: self)
    guard settings.error == 0 else {
      return .cannotRun(.cannot, reason: "cannot start a process: \(Self.message(settings.error))")
    }
    let before = Machine.setUmask(umask)
    defer { _ = Machine.setUmask(before) }
    return search(settings)
  }

  /// Tries the candidate paths in order, as `execvp(3)` does.
  private func search(_ settings: borrowing SpawnSettings) -> Started {
    let name = arguments.first ?? []
    var error = ENOENT
    for path in ProgramSearch.candidates(for: name, environment: environment) {
      let (failed, pid) = attempt(path, settings)
      switch failed {
      case 0: return .running(pid: pid)
      // Kept: "permission denied" is more helpful than a later "not found".
      case EACCES: error = EACCES
      case ENOENT, ENOTDIR, ESTALE, ENODEV, ETIMEDOUT: continue
      default: return cannotRun(failed)
      }
    }
    return cannotRun(error)
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
  private func cannotRun(_ error: Int32) -> Started {
    // `/.` exists only if the path is a directory with search permission.
    if let fault = Self.fault(at: directory + Bytes("/.")) {
      return .cannotRun(
        .cannot, reason: "directory \(Visible.text(directory)): \(Self.message(fault))"
      )
    }
    let name = Visible.text(arguments.first ?? [])
    switch error {
    case ENOENT, ENOTDIR, ESTALE, ENODEV, ETIMEDOUT:
      return .cannotRun(.notFound, reason: "\(name): \(notFound)")
    case EAGAIN, ENOMEM, EMFILE, ENFILE, EBADF, EINVAL:
      return .cannotRun(.cannot, reason: "cannot start a process: \(Self.message(error))")
    default:
      return .cannotRun(.cannotExecute, reason: "\(name): \(Self.message(error))")
    }
  }

  /// Why the program was not found, with what its name suggests.
  private var notFound: String {
    let name = arguments.first ?? []
    let paths = ProgramSearch.candidates(for: name, environment: environment)
    let isThere = paths.contains { path in
      Self.fault(at: path.first == UInt8(ascii: "/") ? path : directory.appending(path: path))
        == nil
    }
    // A script whose `#!` names no program, or a binary without its loader.
    if isThere { return "its interpreter was not found" }
    return ShellQuote.meansMoreToShell(name)
      ? "not found; a shell command line is one argument, after all options" : "not found"
  }

  /// Why the path cannot be resolved, by `stat(2)`; nil if it can.
  private static func fault(at path: Bytes) -> Int32? {
    var status = stat()
    return path.withCString { stat($0, &status) == 0 ? nil : errno }
  }

  private static func message(_ error: Int32) -> String {
    String(cString: strerror(error))
  }
}
