import SerialqSystem

/// Where a program may be, as `execvp(3)` looks for it, but along the job's own PATH.
///
/// `posix_spawnp` would do the looking along the runner's PATH.
enum ProgramSearch {
  /// The paths to try, in order, for a program called `name`.
  ///
  /// A name with a slash is a path already. An empty entry of PATH is the job's directory, to which
  /// relative paths lead anyway. Without PATH, `/bin` and `/usr/bin` are searched.
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
