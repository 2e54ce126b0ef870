import SerialPromises
import SerialqSystem

/// Receives the signals with which the user or the system stops a foreground run.
package final class StopSignals: Sendable {
  private let received: Locked<[Int32]>
  private let listener: SignalListener

  /// Installs the handlers.
  ///
  /// - Parameter hear: Called for each signal, serially, on a Dispatch thread; receives the signal
  ///   and the number of signals so far.
  package init(_ hear: @escaping @Sendable (_ signal: Int32, _ count: Int) -> Void) {
    let received = Locked<[Int32]>([])
    self.received = received
    listener = SignalListener(SignalListener.ending) { number in
      hear(
        number,
        received.withLock { received in
          received.append(number)
          return received.count
        })
    }
  }

  package var first: Int32? { received.withLock { $0.first } }
}
