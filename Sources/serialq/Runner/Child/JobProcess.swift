import SerialqQueue
import SerialqSystem

/// The properties with which a job's process starts.
struct JobProcess {
  var command: Command
  /// The shell for a command line; nil for the default.
  var shell: Bytes?
  /// The complete environment of the child, as `NAME=VALUE`.
  var environment: [Bytes]
  var directory: Bytes
  var umask: UInt16
  var streams = Streams.terminal([])
  /// The lock that the child and its children keep open as `lockDescriptor`.
  ///
  /// Must be 3 or above; nil for none.
  var lock: Int32?
  /// A signal that is blocked in the child, so that it has no effect before the child expects it.
  var blockedSignal: Int32?

  /// What the child gets as standard input, output and error.
  enum Streams {
    /// Descriptors: for standard input, or nil for `/dev/null`, and for both others.
    case files(input: Int32?, output: Int32)
    /// The path of a terminal, which becomes the controlling terminal of the child.
    case terminal(Bytes)
  }

  /// The descriptor of the lock in the child; high, to avoid collisions with descriptors in
  /// scripts.
  static let lockDescriptor: Int32 = 63

  /// The arguments, starting with the program to search for.
  var arguments: [Bytes] {
    switch command {
    case .shell(let line):
      [shell ?? Command.standardShell, Bytes("-c"), JobProcess.operand(line)]
    case .arguments(let words): words
    }
  }

  /// The line with a blank in front if a shell would take it for an option.
  private static func operand(_ line: Bytes) -> Bytes {
    let signs = Bytes("-+")
    return line.first.map(signs.contains) == true ? [UInt8(ascii: " ")] + line : line
  }

  enum Started: Equatable {
    case running(pid: Int32)
    /// Holds the exit code of the job: 125, 126 or 127.
    case cannotRun(ExitCode, reason: String)
  }
}
