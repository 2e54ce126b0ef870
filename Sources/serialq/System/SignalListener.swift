import Dispatch

/// Signals delivered through Dispatch, so that no code runs in a signal handler.
///
/// Replaces the actions of the signals. Spawned children get the default ones back.
package final class SignalListener: Sendable {
  // Retained only: a released source stops delivering.
  nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

  /// Calls `hear` for each of these signals, serially, on a Dispatch thread.
  ///
  /// Returns when Dispatch listens, which it begins on another thread: a signal that comes later is heard, and
  /// one that comes before has its default action.
  package init(_ numbers: [Int32], _ hear: @escaping @Sendable (_ signal: Int32) -> Void) {
    let queue = DispatchQueue(label: "serialq.signals")
    let begun = DispatchGroup()
    sources = numbers.map { number in
      begun.enter()
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { hear(number) }
      source.setRegistrationHandler { begun.leave() }
      source.resume()
      return source
    }
    begun.wait()
    #if !os(Linux)
      // On Linux, Dispatch has installed an action of its own.
      for number in numbers { signal(number, SIG_IGN) }
    #endif
  }

  /// The signals that end a command, except those that the process inherited as ignored.
  package static var ending: [Int32] {
    [SIGINT, SIGTERM, SIGHUP, SIGQUIT].filter { !isIgnored($0) }
  }

  /// As `init`, until the process ends.
  ///
  /// The end of a listener starts a thread, for which the end of the process would wait.
  package static func listenUntilExit(
    _ numbers: [Int32], _ hear: @escaping @Sendable (_ signal: Int32) -> Void
  ) {
    _ = Unmanaged.passRetained(SignalListener(numbers, hear))
  }

  /// Waits on this thread for a signal that the process has blocked since its start, by
  /// `sigwait(3)`.
  ///
  /// Unlike listening, receives one that was sent before.
  package static func wait(for number: Int32) {
    var awaited = signalSet(number)
    var received: Int32 = 0
    while sigwait(&awaited, &received) == EINTR {}
  }

  /// Performs the default action of a signal on this process: terminate, or stop until SIGCONT.
  ///
  /// Listening resumes after SIGCONT. A call of another machine exits as a shell does instead: ssh would
  /// report a signal as a lost connection.
  package static func obey(_ number: Int32) {
    if HostCall.own != nil, number != SIGTSTP { exit(128 + number) }
    var action = sigaction()
    // Dispatch's own action, without which it stops receiving the signal.
    sigaction(number, nil, &action)
    signal(number, SIG_DFL)
    var own = signalSet(number)
    var before = sigset_t()
    // Dispatch blocks the signals that it listens to. Unblocked and raised for this thread only: a
    // process-wide signal could also reach Dispatch.
    pthread_sigmask(SIG_UNBLOCK, &own, &before)
    raise(number)
    pthread_sigmask(SIG_SETMASK, &before, nil)
    sigaction(number, &action, nil)
  }

  /// Lets SIGQUIT end the process, as in any other program.
  ///
  /// The Swift runtime may have installed its crash reporter for it, which prints a backtrace, asks
  /// what to do on a terminal, and then continues.
  package static func removeCrashReporter() {
    if !isIgnored(SIGQUIT) { signal(SIGQUIT, SIG_DFL) }
  }

  /// Whether the process inherited SIG_IGN for this signal, as under `nohup`.
  package static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    sigaction(number, nil, &action)
    #if canImport(Glibc)
      let handler = action.__sigaction_handler.sa_handler
    #else
      let handler = action.__sigaction_u.__sa_handler
    #endif
    return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}

/// A set of only these signals.
package func signalSet(_ signals: Int32...) -> sigset_t {
  var set = sigset_t()
  sigemptyset(&set)
  for signal in signals { sigaddset(&set, signal) }
  return set
}
