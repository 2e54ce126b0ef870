import Dispatch
import SerialPromises

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Hears the signals by which a person or the system asks a foreground run to stop.
///
/// They are ignored as signals and noticed by Dispatch instead, so nothing runs in a signal
/// handler. Children get the defaults back when they are spawned.
final class StopSignals: Sendable {
  private let received: Locked<[Int32]>
  private let sources: Locked<[any DispatchSourceSignal]>

  /// - Parameter hear: Called for each, one after another, on a thread of Dispatch; with the
  ///   signal, and how many have come with it.
  init(_ hear: @escaping @Sendable (_ signal: Int32, _ count: Int) -> Void) {
    let queue = DispatchQueue(label: "serialq.signals")
    let received = Locked<[Int32]>([])
    self.received = received
    sources = Locked(
      [SIGINT, SIGTERM, SIGHUP].filter { !StopSignals.isIgnored($0) }.map { number in
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler {
          hear(
            number,
            received.withLock { received in
              received.append(number)
              return received.count
            })
        }
        source.resume()
        return source
      })
  }

  /// Ends this process as the signal would have ended it.
  static func die(of number: Int32) {
    signal(number, SIG_DFL)
    var own = sigset_t()
    sigemptyset(&own)
    sigaddset(&own, number)
    // Dispatch blocks what it hears. To this thread alone, or Dispatch could hear it once more.
    pthread_sigmask(SIG_UNBLOCK, &own, nil)
    raise(number)
  }

  /// Whether whoever started the program has it ignore this signal, as `nohup` does.
  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    sigaction(number, nil, &action)
    #if canImport(Glibc)
      let handler = action.__sigaction_handler.sa_handler
    #else
      let handler = action.__sigaction_u.__sa_handler
    #endif
    return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  var first: Int32? { received.withLock { $0.first } }
}
