#if canImport(Glibc)
  @preconcurrency import Glibc
#else
  @preconcurrency import Darwin
#endif

/// Properties of this process and of the current boot.
package enum Machine {
  /// The value of an environment variable, by `getenv(3)`.
  package static func variable(_ name: StaticString) -> Bytes? {
    // A StaticString ends with NUL.
    getenv(UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)).map(bytes)
  }

  /// All `NAME=VALUE` entries of the environment, byte for byte, from `environ(7)`.
  ///
  /// Needs no lock, because the program never changes its environment.
  package static func environment() -> [Bytes] {
    var variables: [Bytes] = []
    var next = environ
    while let variable = next.pointee {
      variables.append(bytes(variable))
      next += 1
    }
    return variables
  }

  /// The current directory, by `getcwd(3)`.
  package static func directory() throws(SystemError) -> Bytes {
    guard let path = getcwd(nil, 0) else { throw SystemError("getcwd", errno) }
    defer { free(path) }
    return bytes(path)
  }

  /// The file mode creation mask, by `umask(2)`, which can only be read by setting it.
  package static func umask() -> UInt16 {
    let mask = setUmask(0)
    _ = setUmask(mask)
    return UInt16(mask & 0o777)
  }

  /// An identifier that is unique to each boot; empty if the system has none.
  static func boot() -> Bytes { thisBoot }

  private static let thisBoot: Bytes = {
    #if os(Linux)
      let path = Bytes("/proc/sys/kernel/random/boot_id")
      let text = try? FileDescriptor.openIfThere(
        path, .read, followingLinks: true)?.readAll()
      return (text ?? []).filter { $0 > UInt8(ascii: " ") }
    #else
      var text = [CChar](repeating: 0, count: 64)
      var size = text.count
      guard sysctlbyname("kern.bootsessionuuid", &text, &size, nil, 0) == 0 else { return [] }
      return bytes(&text)
    #endif
  }()

  /// The ID of this process, by `getpid(2)`.
  package static func processID() -> Int32 { getpid() }

  /// The process group of this process, by `getpgrp(2)`; a job's processes are in the group of the
  /// job.
  package static func processGroup() -> Int32 { getpgrp() }

  /// The executable of this process, for starting it again.
  package static func program() -> Bytes {
    #if os(Linux)
      // Also valid after the file was replaced or deleted.
      let link = Bytes("/proc/self/exe")
      let found = link.withCPath { link in
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { path -> Bytes in
          guard let base = path.baseAddress else { return [] }
          return path.prefix(max(0, readlink(link, base, path.count))).map {
            UInt8(bitPattern: $0)
          }
        }
      }
      return (try? FileSystem.status(of: found)) == nil ? link : found
    #else
      var size: UInt32 = 4096
      var path = [CChar](repeating: 0, count: Int(size))
      if _NSGetExecutablePath(&path, &size) != 0 {
        // Too short, and `size` is now the required size.
        path = [CChar](repeating: 0, count: Int(size))
        _ = _NSGetExecutablePath(&path, &size)
      }
      return bytes(&path)
    #endif
  }

  /// The process groups, except this process's own, that hold the file open under this descriptor.
  ///
  /// Read from `proc(5)`; nil on systems without it.
  package static func groups(
    holding file: FileStatus.Identity, as descriptor: Int32
  ) -> Set<Int32>? {
    #if os(Linux)
      var groups: Set<Int32> = []
      for name in (try? FileSystem.names(in: Bytes("/proc"))) ?? [] {
        guard let pid = Int32(name.text) else { continue }
        let path = Bytes("/proc/\(pid)/fd/\(descriptor)".utf8)
        let status = try? FileSystem.status(of: path, followingLinks: true)
        guard status?.identity == file, case let group = getpgid(pid), group > 1 else { continue }
        groups.insert(group)
      }
      groups.remove(processGroup())
      return groups
    #else
      return nil
    #endif
  }

  private static func bytes(_ string: UnsafeMutablePointer<CChar>) -> Bytes {
    Bytes(UnsafeRawBufferPointer(start: string, count: strlen(string)))
  }
}

/// `umask(2)`, which the static method of the same name hides.
private func setUmask(_ mask: mode_t) -> mode_t { umask(mask) }
