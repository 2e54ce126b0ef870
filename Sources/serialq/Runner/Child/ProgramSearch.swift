import SerialqSystem

/// Searches for a program as `execvp(3)` does, but in the job's own PATH.
///
/// `posix_spawnp` would search the PATH of the runner.
package enum ProgramSearch {
  /// Whether this process can execute a program called `name`.
  package static func finds(_ name: Bytes) -> Bool {
    candidates(for: name, environment: Machine.environment()).contains { path in
      (try? FileSystem.isExecutable(path)) == true
    }
  }

  /// The paths to try, in order, for a program called `name`.
  ///
  /// A name with a slash is used as a path. An empty entry of PATH means the job's directory, which
  /// relative paths refer to anyway. Without PATH, searches `/bin` and `/usr/bin`.
  static func candidates(for name: Bytes, environment: [Bytes]) -> [Bytes] {
    guard !name.isEmpty else { return [] }
    let slash = UInt8(ascii: "/")
    guard !name.contains(slash) else { return [name] }
    let prefix = Bytes("PATH=")
    let path = environment.first { $0.starts(with: prefix) }?.dropFirst(prefix.count)
    let folders = (path ?? Bytes("/bin:/usr/bin")[...]).split(
      separator: UInt8(ascii: ":"), omittingEmptySubsequences: false
    )
    return folders.map { $0.isEmpty ? name : $0 + [slash] + name }
  }
}
