/// A pipe by which one thread wakes another out of `poll(2)`.
package final class WakeUpPipe: Sendable {
  private let input: FileDescriptor
  private let output: FileDescriptor

  package init() throws(SystemError) {
    var ends: [Int32] = [0, 0]
    // A job must not inherit them, and a full pipe must not block whoever wakes.
    #if canImport(Glibc)
      _ = try retrying("pipe2") { pipe2(&ends, O_CLOEXEC | O_NONBLOCK) }
    #else
      _ = try retrying("pipe") { pipe(&ends) }
      for end in ends {
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
      }
    #endif
    input = FileDescriptor(owning: ends[0])
    output = FileDescriptor(owning: ends[1])
  }

  /// Has input when it was woken; for ``waitForInput(on:timeoutMilliseconds:)``.
  package var descriptor: Int32 { input.raw }

  /// Wakes whoever waits; a pipe that is full does so as well, so a failed write says nothing.
  package func wake() {
    var byte: UInt8 = 0
    _ = try? retrying("write") { write(output.raw, &byte, 1) }
  }

  /// Takes what has been written, so that the next wait sleeps; says whether it was woken.
  @discardableResult
  package func drain() -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
      var isWoken = false
      while let count = try? retrying(
        "read", { read(input.raw, buffer.baseAddress, buffer.count) }),
        count > 0
      {
        isWoken = true
      }
      return isWoken
    }
  }
}
