import SerialqSystem

/// The live processes, of all users, that have this variable in their environment: `NAME=value`.
func markedProcesses(with variable: Bytes) throws -> [Int32] {
  let mark = variable + [0]
  return try FileSystem.names(in: Bytes("/proc")).compactMap { Int32($0.text) }.filter { pid in
    // A process that has just exited does not count, and neither does a zombie.
    let found = (try? content(Bytes("/proc/\(pid)/environ".utf8))) ?? []
    return memmem(found, found.count, mark, mark.count) != nil
  }
}

/// Kills them all: one can start another before it receives its signal.
func killMarkedProcesses(with variable: Bytes) {
  while let found = try? markedProcesses(with: variable), !found.isEmpty {
    for pid in found { kill(pid, SIGKILL) }
  }
}
