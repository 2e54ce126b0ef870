import SerialqQueue
import SerialqSystem

/// Everything that decides how a job's process starts.
struct JobProcess {
  var command: Command
  /// `NAME=VALUE`; exactly what the child gets.
  var environment: [Bytes]
  var directory: Bytes
  var umask: UInt32
  /// Standard output and standard error of the child.
  var output: Int32
  /// Kept open by the child, as `lockDescriptor`, for as long as it or a child of its lives.
  ///
  /// Has to be 3 or above; nil for none.
  var lock: Int32?

  /// Where a child finds the lock: high, so that a script which opens descriptors by number does
  /// not happen upon it.
  static let lockDescriptor: Int32 = 63

  /// The program as it is looked for, and its arguments, itself first.
  var arguments: [Bytes] {
    switch command {
    case .shell(let line): [Bytes("/bin/sh"), Bytes("-c"), line]
    case .arguments(let words): words
    }
  }

  enum Started: Equatable {
    case running(pid: Int32)
    /// With the code that the job then ends with: 125, 126 or 127.
    case cannotRun(ExitCode, reason: String)
  }
}
