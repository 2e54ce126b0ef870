/// A new pipe to or from another process.
package struct ProcessPipe {
  package let input: FileDescriptor
  package let output: FileDescriptor

  /// Creates a pipe, neither end of which is inherited, by `pipe2(2)`.
  package init(_ name: Bytes) throws(Failure) {
    var ends: [Int32] = [0, 0]
    #if canImport(Glibc)
      _ = try retrying("pipe2", "creating a pipe") { pipe2(&ends, O_CLOEXEC) }
    #else
      _ = try retrying("pipe", "creating a pipe") { pipe(&ends) }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    #endif
    input = FileDescriptor(owning: ends[0], name: name)
    output = FileDescriptor(owning: ends[1], name: name)
  }
}
