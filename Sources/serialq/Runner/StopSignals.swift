import SerialPromises
import SerialqSystem

/// Receives the signals with which the user or the system stops a foreground run.
package final class StopSignals: Sendable {
  private let received: Locked<[Int32]>
  private let listener: SignalListener

  /// Installs the handlers.
  ///
  /// - Throws: If no thread can be started.
  /// - Parameter hear: Called for each signal, serially, on another thread; receives the signal
  ///   and the number of signals so far.
  package init(_ hear: @escaping @Sendable (_ signal: Int32, _ count: Int) -> Void) throws(Failure)
  {
    let received = Locked<[Int32]>([])
    self.received = received
    listener = try SignalListener(SignalListener.ending) { number in
      hear(
        number,
        received.withLock { received in
          received.append(number)
          return received.count
        })
    }
  }

  package var first: Int32? { received.withLock { $0.first } }

  /// Returns when every signal that was sent before has been heard.
  func catchUp() { listener.catchUp() }
}
