import Dispatch

/// Signals that are ignored as signals and noticed by Dispatch instead, by `signal(2)`, so that
/// nothing runs in a signal handler.
///
/// Children get the defaults back when they are spawned.
package final class HeardSignals: Sendable {
  // Kept and never touched again: what is not kept hears nothing.
  nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

  /// Calls `hear` for each of these that comes, one after another, on a thread of Dispatch.
  package init(_ numbers: [Int32], _ hear: @escaping @Sendable (_ signal: Int32) -> Void) {
    let queue = DispatchQueue(label: "serialq.signals")
    sources = numbers.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { hear(number) }
      source.resume()
      return source
    }
  }

  /// Does to this process what the signal does by default: ends it, or stops it until it is told to
  /// continue, and then it is heard again.
  package static func obey(_ number: Int32) {
    var action = sigaction()
    // What Dispatch has put there, and needs there to hear it again.
    sigaction(number, nil, &action)
    signal(number, SIG_DFL)
    var own = sigset_t()
    var before = sigset_t()
    sigemptyset(&own)
    sigaddset(&own, number)
    // Dispatch blocks what it hears. To this thread alone, or Dispatch could hear it once more.
    pthread_sigmask(SIG_UNBLOCK, &own, &before)
    raise(number)
    pthread_sigmask(SIG_SETMASK, &before, nil)
    sigaction(number, &action, nil)
  }

  /// Whether whoever started the program has it ignore this signal, as `nohup` does.
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
