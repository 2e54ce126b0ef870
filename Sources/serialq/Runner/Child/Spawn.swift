import SerialqSystem

extension JobProcess {
  /// Starts the job, by `posix_spawn`; when it returns, the program is already executing.
  ///
  /// The child leads its own session and process group, has every signal unblocked and at its default, reads
  /// `/dev/null`, and has no other descriptor than 0, 1, 2 and the lock.
  ///
  /// Sets the umask of the whole process for a moment, as `posix_spawn` has no other way to hand
  /// one on. This is safe as long as only the runner's one thread spawns, and as files that other
  /// threads create meanwhile are private: the mode they are given, 0600, bounds what they get.
  func start() -> Started {
    guard !([directory] + arguments + environment).contains(where: { $0.contains(0) }) else {
      return .cannotRun(.cannot, reason: "a NUL byte cannot be passed to a program")
    }
    let settings = SpawnSettings(for: self)
    guard settings.error == 0 else {
      return .cannotRun(.cannot, reason: "cannot start a process: \(Self.message(settings.error))")
    }
    let before = Self.setUmask(umask)
    defer { _ = Self.setUmask(before) }
    return search(settings)
  }

  /// Tries one place after the other, as `execvp(3)` does.
  private func search(_ settings: borrowing SpawnSettings) -> Started {
    let name = arguments.first ?? []
    var error = ENOENT
    for path in ProgramSearch.candidates(for: name, environment: environment) {
      let (failed, pid) = attempt(path, settings)
      switch failed {
      case 0: return .running(pid: pid)
      // Remembered: "permission denied" says more than that it is nowhere else either.
      case EACCES: error = EACCES
      case ENOENT, ENOTDIR, ESTALE, ENODEV, ETIMEDOUT: continue
      default: return cannotRun(failed)
      }
    }
    return cannotRun(error)
  }

  /// Starts what is at `path`; gives the error number, or 0 and the process.
  private func attempt(
    _ path: Bytes, _ settings: borrowing SpawnSettings
  ) -> (error: Int32, pid: Int32) {
    let first = settings.spawn(path, arguments, environment)
    // A script without `#!`: env(1) and every shell have /bin/sh read it, so it runs here as well.
    guard first.error == ENOEXEC else { return first }
    let script = [Bytes("/bin/sh"), path] + arguments.dropFirst()
    return settings.spawn(Bytes("/bin/sh"), script, environment)
  }

  /// Says what `error` means.
  ///
  /// One number stands for the failure of any step in the child. So the directory is looked at
  /// here, after the fact: had it been looked at before, it could still have gone until then.
  private func cannotRun(_ error: Int32) -> Started {
    // `/.` is found only if the path is a directory that may be entered.
    if let fault = Self.fault(at: directory + Bytes("/.")) {
      return .cannotRun(
        .cannot, reason: "directory \(Visible.text(directory)): \(Self.message(fault))"
      )
    }
    let name = Visible.text(arguments.first ?? [])
    switch error {
    case ENOENT, ENOTDIR, ESTALE, ENODEV, ETIMEDOUT:
      return .cannotRun(.notFound, reason: "\(name): not found")
    case EAGAIN, ENOMEM, EMFILE, ENFILE, EBADF, EINVAL:
      return .cannotRun(.cannot, reason: "cannot start a process: \(Self.message(error))")
    default:
      return .cannotRun(.cannotExecute, reason: "\(name): \(Self.message(error))")
    }
  }

  /// Why the directory's path leads nowhere: `stat(2)`.
  private static func fault(at path: Bytes) -> Int32? {
    var status = stat()
    return CStrings.with(path) { stat($0, &status) == 0 ? nil : errno }
  }

  private static func message(_ error: Int32) -> String {
    String(cString: strerror(error))
  }

  private static func setUmask(_ mask: UInt32) -> UInt32 {
    UInt32(systemUmask(mode_t(truncatingIfNeeded: mask)))
  }
}

/// The C function, which the property of the same name hides.
private func systemUmask(_ mask: mode_t) -> mode_t { umask(mask) }
