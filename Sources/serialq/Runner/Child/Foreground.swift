import SerialPromises
import SerialqQueue
import SerialqSystem

/// Programs in the foreground of this process's terminal.
package enum Foreground {
  /// Runs a program with the standard streams of this process; returns how it ended, and after a
  /// signal that was sent to it, that signal: some programs exit instead.
  ///
  /// Sends `signals` to the program if this process receives them. Without SIGINT, that is ignored,
  /// as by system(3): Ctrl-C is meant for the program, which receives it too.
  package static func run(
    _ words: [Bytes], passing signals: [Int32] = [SIGTERM, SIGHUP]
  ) throws(Failure) -> Ending {
    let ignored = Set([SIGINT, SIGQUIT]).subtracting(signals)
    let before = ignored.map { ($0, signal($0, SIG_IGN)) }
    defer { for (number, handler) in before { signal(number, handler) } }
    let process = JobProcess(
      command: .arguments(words), environment: Machine.environment(), directory: Bytes("."),
      umask: Machine.umask(), streams: .inherited)
    let state = Locked<(running: Int32?, passed: Int32?)>((nil, nil))
    // Before the program, which nothing would wait for if this failed.
    let listener = try SignalListener(signals.filter { !SignalListener.isIgnored($0) }) { number in
      state.withLock { state in
        state.passed = number
        if let pid = state.running { kill(pid, number) }
      }
    }
    defer { withExtendedLifetime(listener) {} }
    let child: ChildProcess
    do throws(Failure) {
      child = try process.start()
    } catch {
      var failure = error
      if error.code == .notFound {
        failure = error.adding("Nothing was changed. Install it, or add its folder to PATH.")
      }
      failure.code = .cannot
      throw failure
    }
    state.withLock { state in
      state.running = child.pid
      if let number = state.passed { kill(child.pid, number) }
    }
    try child.waitUntilEnded()
    // Not after it was reaped: its ID may be reused.
    let passed = state.withLock { state in
      state.running = nil
      return state.passed
    }
    let ending = try child.reap()
    return passed.map { .killed($0) } ?? ending
  }

  /// Sends this process SIGHUP when nothing reads what it prints any more, as if its terminal had
  /// closed.
  ///
  /// For a command that may print nothing for long.
  package static func hangUpWithReader(of descriptor: Int32) throws(Failure) {
    try StartedThread {
      if (try? waitForEnd(ofReaderOf: descriptor)) != nil { kill(getpid(), SIGHUP) }
    }.detach()
  }
}
