import Dispatch
import SerialPromises

/// Signals that a thread of its own awaits, by `sigwait(3)`, so that no code runs in a handler.
///
/// Blocks them in the thread that creates it, the only one that can receive signals, until its end.
package final class SignalListener: Sendable {
  private final class State: Sendable {
    let isOver = Atomic(false)
    /// Whether ``catchUp()`` waits for `hasCaughtUp`.
    let isBehind = Atomic(false)
    let hasCaughtUp = DispatchSemaphore(value: 0)
  }

  /// Wakes the thread, to which alone it is sent.
  private static let call = SIGURG

  private let numbers: [Int32]
  private let state = State()
  private let thread: StartedThread?

  /// Calls `hear` for each of these signals, serially, on its thread.
  ///
  /// A signal that comes later is heard, even before the thread runs.
  package init(
    _ numbers: [Int32], _ hear: @escaping @Sendable (_ signal: Int32) -> Void
  ) throws(Failure) {
    self.numbers = numbers
    guard !numbers.isEmpty else {
      thread = nil
      return
    }
    #if !os(Linux)
      // Signals that would be ignored are not awaited there.
      for number in numbers where !Self.isIgnored(number) { signal(number) { _ in } }
      signal(Self.call) { _ in }
    #endif
    var own = signalSet(numbers)
    pthread_sigmask(SIG_BLOCK, &own, nil)
    do throws(Failure) {
      thread = try StartedThread { [state] in
        while true {
          let number = Self.wait(for: numbers + [Self.call])
          if state.isOver.load(ordering: .sequentiallyConsistent) { return }
          guard number == Self.call else {
            hear(number)
            continue
          }
          let isBehind = state.isBehind.exchange(false, ordering: .sequentiallyConsistent)
          // The call is received before what was sent to the whole process earlier.
          while let number = numbers.first(where: Self.isPending) { hear(Self.wait(for: [number])) }
          if isBehind { state.hasCaughtUp.signal() }
        }
      }
    } catch {
      pthread_sigmask(SIG_UNBLOCK, &own, nil)
      throw error
    }
    thread?.detach()
  }

  deinit {
    guard let thread else { return }
    state.isOver.store(true, ordering: .sequentiallyConsistent)
    // Before the others are unblocked: what arrives after that is not for the thread.
    thread.send(Self.call)
    var own = signalSet(numbers)
    pthread_sigmask(SIG_UNBLOCK, &own, nil)
  }

  /// Returns when every signal that was sent before has been heard; call it from one thread at a
  /// time.
  ///
  /// The thread can have received a signal, and get no processor for a long time before it calls
  /// `hear`.
  package func catchUp() {
    guard let thread else { return }
    state.isBehind.store(true, ordering: .sequentiallyConsistent)
    thread.send(Self.call)
    state.hasCaughtUp.wait()
  }

  /// The signals that end a command, except those that the process inherited as ignored.
  package static var ending: [Int32] {
    [SIGINT, SIGTERM, SIGHUP, SIGQUIT].filter { !isIgnored($0) }
  }

  /// Waits on this thread for one of these signals, which must be blocked in all.
  ///
  /// Receives one that was sent before, too.
  @discardableResult
  package static func wait(for numbers: [Int32]) -> Int32 {
    var awaited = signalSet(numbers)
    var received: Int32 = 0
    while sigwait(&awaited, &received) == EINTR {}
    return received
  }

  /// Whether this signal, which is blocked, was sent to this process or thread and not awaited yet.
  private static func isPending(_ number: Int32) -> Bool {
    var pending = sigset_t()
    return sigpending(&pending) == 0 && sigismember(&pending, number) == 1
  }

  /// Performs the default action of a signal on this process: terminate, or stop until SIGCONT.
  ///
  /// Returns after SIGCONT. A call of another machine exits as a shell does instead: ssh would
  /// report a signal as a lost connection.
  package static func obey(_ number: Int32) {
    if HostCall.own != nil, number != SIGTSTP { exit(128 + number) }
    var action = sigaction()
    sigaction(number, nil, &action)
    signal(number, SIG_DFL)
    var own = signalSet([number])
    var before = sigset_t()
    // Raised for this thread only: the others block it.
    pthread_sigmask(SIG_UNBLOCK, &own, &before)
    raise(number)
    pthread_sigmask(SIG_SETMASK, &before, nil)
    sigaction(number, &action, nil)
    // Without an effect on the first process of a container.
    if ending.contains(number) { exit(128 + number) }
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
package func signalSet(_ signals: [Int32]) -> sigset_t {
  var set = sigset_t()
  sigemptyset(&set)
  for signal in signals { sigaddset(&set, signal) }
  return set
}
