#if canImport(MachO)
  import MachO
#endif

/// Properties of this process and of the current boot.
package enum Machine {
  /// The value of an environment variable, by `getenv(3)`.
  package static func variable(_ name: StaticString) -> Bytes? {
    // A StaticString ends with NUL.
    getenv(UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self))
      .map { Bytes(cString: $0) }
  }

  /// Sets an environment variable, given as `NAME=VALUE`, by `putenv(3)`.
  ///
  /// Call it before a thread is started.
  package static func set(_ variable: Bytes) {
    _ = variable.withCString { putenv(strdup($0)) }
  }

  /// The arguments after the program's name, byte for byte.
  ///
  /// `CommandLine.arguments` repairs invalid UTF-8, so a job would receive the name of a file that
  /// does not exist.
  package static func arguments() throws(Failure) -> [Bytes] {
    guard CommandLine.argc == 0 else { return strings(CommandLine.unsafeArgv + 1) }
    // The runtime found none: /proc is missing, or a preloaded library moved the environment.
    let path = Bytes("/proc/self/cmdline")
    guard let file = try FileDescriptor.openIfThere(path, .read, followingLinks: true) else {
      throw Failure(
        "reading the arguments", "/proc is not mounted", next: "Run: mount -t proc proc /proc")
    }
    let words = try file.readAll().split(separator: 0, omittingEmptySubsequences: false)
    return words.dropFirst().dropLast().map { Bytes($0) }
  }

  /// All `NAME=VALUE` entries of the environment, byte for byte.
  package static func environment() -> [Bytes] { strings(environmentEntries) }

  private static func strings(
    _ list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  ) -> [Bytes] {
    var strings: [Bytes] = []
    var next = list
    while let string = next.pointee {
      strings.append(Bytes(cString: string))
      next += 1
    }
    return strings
  }

  /// The current directory, by `getcwd(3)`.
  package static func directory() throws(Failure) -> Bytes {
    guard let path = getcwd(nil, 0) else {
      throw Failure("getcwd", errno, "finding the current directory")
    }
    defer { free(path) }
    return Bytes(cString: path)
  }

  /// The file mode creation mask, by `umask(2)`, which can only be read by setting it.
  package static func umask() -> UInt16 {
    let mask = setUmask(0)
    _ = setUmask(mask)
    return mask
  }

  /// Sets the file mode creation mask, by `umask(2)`; returns the previous one.
  package static func setUmask(_ mask: UInt16) -> UInt16 {
    UInt16(systemUmask(mode_t(mask)) & 0o777)
  }

  /// An identifier that is unique to each boot; empty if the system has none.
  static let boot: Bytes = {
    #if os(Linux)
      let path = Bytes("/proc/sys/kernel/random/boot_id")
      let text = try? FileDescriptor.openIfThere(
        path, .read, followingLinks: true)?.readAll()
      return (text ?? []).filter { $0 > UInt8(ascii: " ") }
    #else
      var text = [CChar](repeating: 0, count: 64)
      var size = text.count
      guard sysctlbyname("kern.bootsessionuuid", &text, &size, nil, 0) == 0 else { return [] }
      return Bytes(cString: text)
    #endif
  }()

  /// The ID of this process, by `getpid(2)`.
  package static func processID() -> Int32 { getpid() }

  /// The effective user of this process, by `geteuid(2)`.
  package static func userID() -> UInt32 { geteuid() }

  /// The process group of this process, by `getpgrp(2)`; a job's processes are in the group of the
  /// job.
  package static func processGroup() -> Int32 { getpgrp() }

  /// The executable of this process, for starting it again.
  package static func program() -> Bytes {
    #if os(Linux)
      // Also valid after the file was replaced or deleted.
      let link = Bytes("/proc/self/exe")
      let found = FileSystem.target(of: link) ?? []
      return (try? FileSystem.status(of: found)) == nil ? link : found
    #else
      var size: UInt32 = 4096
      var path = [CChar](repeating: 0, count: Int(size))
      if _NSGetExecutablePath(&path, &size) != 0 {
        // Too short, and `size` is now the required size.
        path = [CChar](repeating: 0, count: Int(size))
        _ = _NSGetExecutablePath(&path, &size)
      }
      return Bytes(cString: path)
    #endif
  }

  /// The time since boot, in the clock ticks of ``ProcessStatus/Identity/started``.
  package static func bootTicks() -> UInt64 {
    #if os(Linux)
      var time = timespec()
      // Cannot fail: the clock ID is a constant, and the pointer is valid.
      _ = clock_gettime(CLOCK_BOOTTIME, &time)
      let frequency = UInt64(max(1, sysconf(Int32(_SC_CLK_TCK))))
      return UInt64(time.tv_sec) * frequency + UInt64(time.tv_nsec) * frequency / 1_000_000_000
    #else
      return 0
    #endif
  }

  /// What to do after a shortage of memory or, unless it `isOfMemory`, of processes: names the
  /// limits that are set.
  static func shortageAdvice(isOfMemory: Bool) -> String {
    var raise: [String] = []
    #if os(Linux)
      if limit(RLIMIT_AS) != .max { raise.append("on memory with ulimit -v") }
      if !isOfMemory, limit(__RLIMIT_NPROC) != .max { raise.append("on processes with ulimit -u") }
    #endif
    return raise.isEmpty
      ? "The machine is out of memory or processes: end something, then try again."
      : "Raise the limit \(raise.joined(separator: ", or that ")), or end something, then try again."
  }

  #if os(Linux)
    /// The limit that holds for this process, by `getrlimit(2)`; `.max` if there is none.
    private static func limit(_ resource: __rlimit_resource) -> UInt {
      var limit = rlimit()
      let isKnown = getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0
      return isKnown ? limit.rlim_cur : .max
    }
  #endif

  /// Fails if a limit is so small that serialq could not report it where it meets it.
  ///
  /// The process would end by SIGSEGV; or a job would be queued, and its runner unable to start.
  package static func requireLimits() throws(Failure) {
    #if os(Linux)
      let least: [(__rlimit_resource, UInt, String, advice: String)] = [
        (RLIMIT_STACK, 128 << 10, "the stack, in bytes", "-s 1024"),
        // A plain `run` of the development build needs 26; every command was tried with 40.
        (RLIMIT_NOFILE, 40, "open files", "-n 64"),
      ]
      for (resource, least, name, advice) in least where limit(resource) < least {
        throw Failure(
          "the limit of \(name)", "\(limit(resource)) is too small",
          next: "Set a larger one: ulimit \(advice)")
      }
    #endif
  }
}

/// `umask(2)`, which the static method of the same name hides.
private func systemUmask(_ mask: mode_t) -> mode_t { umask(mask) }
