import SerialqQueue
import SerialqSystem

/// The properties with which a job's process starts.
struct JobProcess {
  var command: Command
  /// The complete environment of the child, as `NAME=VALUE`.
  var environment: [Bytes]
  var directory: Bytes
  var umask: UInt16
  /// The descriptor for standard output and standard error of the child.
  var output: Int32
  /// The lock that the child and its children keep open as `lockDescriptor`.
  ///
  /// Must be 3 or above; nil for none.
  var lock: Int32?

  /// The descriptor of the lock in the child; high, to avoid collisions with descriptors in
  /// scripts.
  static let lockDescriptor: Int32 = 63

  /// The arguments, starting with the program to search for.
  var arguments: [Bytes] {
    switch command {
    case .shell(let line): [Bytes("/bin/sh"), Bytes("-c"), line]
    case .arguments(let words): words
    }
  }

  enum Started: Equatable {
    case running(pid: Int32)
    /// Holds the exit code of the job: 125, 126 or 127.
    case cannotRun(ExitCode, reason: String)
  }
}
