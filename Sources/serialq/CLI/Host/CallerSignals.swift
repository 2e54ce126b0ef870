import SerialPromises
import SerialqSystem

/// Receives the signals of a process whose command is carried out on another machine.
///
/// They go to that machine, where they have the effect that they have here. Before it has answered,
/// while the connection is lost, and if it does not react, they end this process.
final class CallerSignals: Sendable {
  private struct State {
    var isConnected = false
    /// The process of ssh; 0 for none.
    var ssh: Int32 = 0
    /// What to print if a signal ends this process while the command there may continue.
    var farewell: Failure?
    var received: [Int32] = []
    var count = 0
    var isResized = false
  }

  private let state: Locked<State>
  private let listener: SignalListener

  /// After so many, the process ends itself: `run` needs two.
  private static let most = 2

  /// Calls `wake` on a Dispatch thread after each signal; `mode` is that of the terminal, which is
  /// restored before the process ends.
  init(restoring mode: TerminalMode?, wake: @escaping @Sendable () -> Void) {
    let state = Locked(State())
    self.state = state
    let ending = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].filter { !SignalListener.isIgnored($0) }
    listener = SignalListener(ending + [SIGWINCH, SIGCONT]) { signal in
      let (endsNow, farewell) = state.withLock { state -> (Bool, Failure?) in
        guard ending.contains(signal) else {
          state.isResized = true
          if signal == SIGCONT { state.received.append(signal) }
          return (false, nil)
        }
        state.count += 1
        state.received.append(signal)
        guard !state.isConnected || state.count > Self.most else { return (false, nil) }
        // At a prompt of ssh, it would stay at the terminal.
        if state.ssh > 0, !state.isConnected { kill(state.ssh, SIGKILL) }
        return (true, state.farewell)
      }
      guard endsNow else { return wake() }
      // In the background another program may have set it.
      if TerminalWindow.isOurs(STDIN_FILENO) { mode?.restore(on: STDIN_FILENO) }
      if let farewell {
        let text = Bytes("\(farewell)\n".utf8)
        _ = text.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
      }
      SignalListener.obey(signal)
    }
  }

  /// Whether a signal has come that is to end the command.
  var isStopping: Bool { state.withLock { $0.count > 0 } }

  /// Notes the process that connects, before it is reaped; 0 for none.
  func note(ssh: Int32) {
    state.withLock { state in
      state.ssh = ssh
      state.isConnected = false
    }
  }

  /// Notes that the connection is lost, and what to print if a signal ends this process meanwhile.
  func noteLoss(_ farewell: Failure?) {
    note(ssh: 0)
    state.withLock { $0.farewell = farewell }
  }

  /// Notes that the machine has answered.
  func noteAnswer() { state.withLock { $0.isConnected = true } }

  /// The signals since the last call, and whether the terminal may have another size.
  func take() -> (signals: [Int32], isResized: Bool) {
    state.withLock { state in
      defer {
        state.received = []
        state.isResized = false
      }
      return (state.received, state.isResized)
    }
  }
}
