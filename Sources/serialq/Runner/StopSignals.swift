import Dispatch
import SerialPromises

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Counts the signals by which a person or the system asks a foreground run to stop.
///
/// They are ignored as signals and noticed by Dispatch instead, so nothing runs in a signal
/// handler. Children get the defaults back when they are spawned.
final class StopSignals: Sendable {
  private let received: Locked<[Int32]>
  private let sources: Locked<[any DispatchSourceSignal]>

  /// - Parameter notify: Called after each, on a thread of Dispatch.
  init(_ notify: @escaping @Sendable () -> Void) {
    let received = Locked<[Int32]>([])
    self.received = received
    sources = Locked(
      [SIGINT, SIGTERM, SIGHUP].filter { !StopSignals.isIgnored($0) }.map { number in
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler {
          received.withLock { $0.append(number) }
          notify()
        }
        source.resume()
        return source
      })
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

  var count: Int { received.withLock { $0.count } }

  var first: Int32? { received.withLock { $0.first } }
}
