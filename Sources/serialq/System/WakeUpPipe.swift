/// A pipe with which one thread interrupts the `poll(2)` of another.
package final class WakeUpPipe: Sendable {
  private let input: FileDescriptor
  private let output: FileDescriptor

  package init() throws(Failure) {
    var ends: [Int32] = [0, 0]
    // A job must not inherit the pipe, and a full pipe must not block the writer.
    #if canImport(Glibc)
      _ = try retrying("pipe2", "creating a pipe") { pipe2(&ends, O_CLOEXEC | O_NONBLOCK) }
    #else
      _ = try retrying("pipe", "creating a pipe") { pipe(&ends) }
      for end in ends {
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        _ = fcntl(end, F_SETFL, O_NONBLOCK)
      }
    #endif
    input = FileDescriptor(owning: ends[0])
    output = FileDescriptor(owning: ends[1])
  }

  /// Becomes readable after ``wake()``; for ``waitForInput(on:until:)``.
  package var descriptor: Int32 { input.raw }

  /// Wakes too, by a byte that is written to it, for the handler of a signal.
  var writer: Int32 { output.raw }

  /// Wakes the waiting thread; a failed write to a full pipe is ignored, because that wakes it too.
  package func wake() {
    var byte: UInt8 = 0
    _ = try? retrying("write", "waking", unless: EAGAIN) { write(output.raw, &byte, 1) }
  }

  /// Consumes pending wake-ups, so that the next wait blocks; returns whether there were any.
  @discardableResult
  package func drain() -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
      var isWoken = false
      while let count = try? retrying(
        "read", "waiting", unless: EAGAIN, { read(input.raw, buffer.baseAddress, buffer.count) }),
        count > 0
      {
        isWoken = true
      }
      return isWoken
    }
  }
}
