import SerialqQueue
import SerialqSystem

/// The properties with which a process starts: a job, or another process that runs beside it.
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
  var lock: FileDescriptor?
  /// A signal that is blocked in the child, so that it has no effect before the child expects it.
  var blockedSignal: Int32?

  /// What the child gets as standard input, output and error.
  enum Streams {
    /// Descriptors: for standard input, or nil for `/dev/null`, and for both others.
    case files(input: FileDescriptor?, output: FileDescriptor)
    /// The path of a terminal, which becomes the controlling terminal of the child.
    case terminal(Bytes)
    /// The streams of this process; the child also keeps its session, directory and ignored
    /// signals.
    case inherited
  }

  /// The descriptor of the lock in the child; high, to avoid collisions with descriptors in
  /// scripts.
  ///
  /// Within the limit of `ulimit -n`; a child inherits that, and so finds the same number.
  static let lockDescriptor = Int32(max(4, min(63, sysconf(Int32(_SC_OPEN_MAX)) - 1)))

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
}

extension JobProcess {
  /// A process of serialq itself that works for a queue.
  ///
  /// It inherits nothing else of the caller: its directory would block an unmount, and its
  /// environment may contain secrets.
  init(
    serialq words: [Bytes], in folder: QueueFolder, _ streams: Streams, lock: FileDescriptor,
    blocking signal: Int32
  ) {
    self.init(
      command: .arguments([Machine.program()] + words),
      environment: [Bytes("SERIALQ_DIR=") + folder.spool], directory: Bytes("/"), umask: 0o077,
      streams: streams, lock: lock, blockedSignal: signal)
  }
}

extension Hook {
  /// Starts the command, whose output goes to `log`.
  func start(
    in folder: QueueFolder, shell: Bytes?, adding variables: [Bytes], log: FileDescriptor
  ) throws(Failure) -> ChildProcess {
    var environments = Environments(folder)
    let process = JobProcess(
      command: .shell(line), shell: shell,
      environment: try environments.load(context.environment, adding: variables),
      directory: context.directory, umask: context.umask,
      streams: .files(input: nil, output: log))
    return try process.start()
  }
}
