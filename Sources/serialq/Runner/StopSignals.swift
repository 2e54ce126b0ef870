import SerialPromises
import SerialqSystem

/// Hears the signals by which a person or the system asks a foreground run to stop.
package final class StopSignals: Sendable {
  private let received: Locked<[Int32]>
  private let heard: HeardSignals

  /// - Parameter hear: Called for each, one after another, on a thread of Dispatch; with the
  ///   signal, and how many have come with it.
  package init(_ hear: @escaping @Sendable (_ signal: Int32, _ count: Int) -> Void) {
    let received = Locked<[Int32]>([])
    self.received = received
    heard = HeardSignals([SIGINT, SIGTERM, SIGHUP].filter { !HeardSignals.isIgnored($0) }) {
      number in
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
