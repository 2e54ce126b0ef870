import SerialqQueue
import SerialqSystem

/// The program: takes arguments, returns an exit code.
package enum Program {
  /// Runs the program and ends the process.
  package static func main() -> Never {
    let code = run()
    // The terminal is restored by now.
    if let signal = code.signal { SignalListener.obey(signal) }
    exit(code.rawValue)
  }

  private static func run() -> ExitCode {
    var session = Session()
    var code = ExitCode.success
    do throws(Failure) {
      try Machine.requireLimits()
      try InheritedDescriptors.fillStandardOnes()
      let arguments = try Machine.arguments()
      Output.ignoreSignalsOfWrites()
      SignalListener.removeCrashReporter()
      // A parent may ignore it: then the system would not keep the ends of children.
      signal(SIGCHLD, SIG_DFL)
      let (host, words) = try HostOption.split(
        arguments, variable: Machine.variable("SERIALQ_HOST"))
      code = try session.perform(words, on: host)
      try session.output.flush()
    } catch {
      session.output.message(error.description)
      if code.signal == nil { code = error.code }
    }
    return code
  }
}

/// The state of one invocation of the program.
struct Session {
  var output = Output()

  /// The capabilities of standard output.
  private(set) lazy var traits = TerminalTraits(of: STDOUT_FILENO, variable: Machine.variable)

  /// The capabilities of standard error.
  private(set) lazy var messageTraits = TerminalTraits(
    of: STDERR_FILENO, variable: Machine.variable)

  /// Performs a command on another machine, or on this one if `host` is nil.
  fileprivate mutating func perform(
    _ words: [Bytes], on host: HostAddress?
  ) throws(Failure) -> ExitCode {
    guard let host else {
      if let call = HostCall.own { return try perform(call) }
      let queue = Machine.variable("SERIALQ_QUEUE")
      return try perform(try Invocation.parse(words, queueVariable: queue))
    }
    // That machine has variables of its own.
    let invocation = try Invocation.parse(words)
    if invocation.isLocal { return try perform(invocation) }
    return try call(host, words, readsInput: invocation.readsInput)
  }

  mutating func perform(_ invocation: Invocation) throws(Failure) -> ExitCode {
    switch invocation {
    case .command(let command): return try command.perform(in: &self)
    case .backgroundRunner(let queue): return try runInBackground(queue)
    case .terminalKeeper(let queue, let id): return try keepTerminal(of: id, in: queue)
    }
  }

  func spool() throws(Failure) -> Spool {
    try Spool(environment: Machine.variable)
  }

  /// Reads a queue, reports its damaged lines and calls `each` with every line.
  ///
  /// Returns nil if the queue does not exist.
  func readQueue(
    named name: String, each: ((Entry, Job?, borrowing Queue) -> Void)? = nil
  ) throws(Failure) -> (QueueFolder, Queue)? {
    guard let folder = try spool().existingQueue(named: name) else { return nil }
    var reader = JournalReader(folder)
    report(try reader.readWithReports(each: each).damaged, in: folder)
    return (folder, reader.queue)
  }

  /// Reads the selected jobs; fails with the existing ids if one does not exist.
  func readJobs(
    _ selection: JobSelection, in name: String
  ) throws(Failure) -> (QueueFolder, Queue, [Job]) {
    guard let (folder, queue) = try readQueue(named: name) else { throw noJobs(in: name) }
    return (folder, queue, try queue.jobs(selection, in: name))
  }

  /// Prints JSON: unchanged for programs, escaped on a terminal.
  mutating func result(json: Bytes) {
    output.result(traits.isTerminal ? Visible.json(json) : json)
  }

  func report(_ damaged: [DamagedLine], in folder: QueueFolder) {
    if let text = damaged.message(in: folder) { output.message(text) }
  }
}
