/// A process, as `/proc/PID/stat` of `proc(5)` describes it.
package struct ProcessStatus: Equatable, Sendable {
  /// Identifies a process even after its ID was reused.
  package struct Identity: Hashable, Sendable {
    package var pid: Int32
    /// The start of the process, in clock ticks since boot.
    package var started: UInt64
  }

  package var identity: Identity
  /// The name of the program, of up to 15 bytes.
  package var name: Bytes
  package var parent: Int32 = 1
  package var group: Int32
  package var session: Int32
  /// Whether it does not run before it receives SIGCONT or what it waits for.
  ///
  /// Stopped by a signal or a debugger, or waiting without interruption. The latter cannot be
  /// stopped, for example while a child that it started by `vfork(2)` is, but stops when it ends.
  package var isStopped = false
  /// Whether a signal has stopped it; not if another process traces it.
  package var isSuspended = false

  package var pid: Int32 { identity.pid }
}

extension ProcessStatus {
  /// Parses the line; nil if it is not one, or if the process has ended and is not reaped yet.
  ///
  /// The descriptors of a zombie are hidden, as another user's are, but it has none.
  package init?(line: Bytes, isZombieToo: Bool = false) {
    // The name may contain parentheses and spaces.
    guard let open = line.firstIndex(of: UInt8(ascii: "(")),
      let close = line.lastIndex(of: UInt8(ascii: ")")), open < close,
      let pid = Int32(Bytes(line[..<open].filter { $0 != UInt8(ascii: " ") }).text)
    else { return nil }
    // From the third field on: the state.
    let fields = line[(close + 1)...].split(separator: UInt8(ascii: " ")).map { Bytes($0).text }
    guard fields.count > 19, fields[0] != "X", isZombieToo || fields[0] != "Z",
      let parent = Int32(fields[1]),
      let group = Int32(fields[2]),
      let session = Int32(fields[3]), let started = UInt64(fields[19])
    else { return nil }
    self.init(
      identity: Identity(pid: pid, started: started), name: Bytes(line[(open + 1)..<close]),
      parent: parent, group: group, session: session,
      isStopped: ["T", "t", "D"].contains(fields[0]), isSuspended: fields[0] == "T")
  }

  /// The present status of a process; nil if there is none, or no `proc(5)`.
  package static func of(_ pid: Int32) -> ProcessStatus? { (try? found(pid)) ?? nil }

  /// The parent of a process, also of one that has ended and is not reaped yet.
  package static func parent(of pid: Int32) -> Int32? {
    ((try? found(pid, isZombieToo: true)) ?? nil)?.parent
  }

  /// Whether a process, or this one, descends from another one, through processes that are alive.
  package static func isAncestor(_ pid: Int32, of process: Int32 = Machine.processID()) -> Bool {
    var next: Int32? = process
    while let process = next, process > 1 {
      if process == pid { return true }
      next = parent(of: process)
    }
    return false
  }

  /// As ``of(_:)``; fails by a shortage.
  package static func found(
    _ pid: Int32, isZombieToo: Bool = false
  ) throws(Failure) -> ProcessStatus? {
    let path = Bytes("/proc/\(pid)/stat".utf8)
    return try Failure.unlessShort { () throws(Failure) in
      try FileDescriptor.openIfThere(path, .read, followingLinks: true)?.readAll()
    }.flatMap { ProcessStatus(line: $0, isZombieToo: isZombieToo) }
  }
}
