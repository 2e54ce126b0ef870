import SerialPromises
import TestSupport

/// Ports of servers on the loopback interface, below those that the system assigns, so that no
/// connection takes one while it is unused.
///
/// None is given twice in a process: servers of tests that run at the same time never share one.
/// The first is random, because other processes can run tests at the same time.
enum LoopbackPorts {
  private static let given = Atomic(Int.random(in: 0..<3_000))

  /// Returns the first of four consecutive ports.
  static func nextFour() -> Int {
    20_000 + 4 * (given.add(1) % 3_000)
  }
}
