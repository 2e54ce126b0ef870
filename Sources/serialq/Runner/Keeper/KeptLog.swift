import SerialqSystem

/// The log of a job with a terminal, which its keeper writes.
///
/// A log that cannot be written, because the disk is full, must not hold up the job: what does not
/// fit is dropped, and a line says so as soon as there is room.
struct KeptLog {
  private let file: FileDescriptor
  private var dropped = 0
  /// Why output was dropped first; nil if none was.
  private(set) var reason: String?

  init(_ file: FileDescriptor) {
    self.file = file
  }

  mutating func write(_ bytes: Bytes) {
    do throws(Failure) {
      if dropped > 0 {
        try file.writeAll(Bytes("\r\nserialq: \(dropped) bytes of output dropped here\r\n".utf8))
        dropped = 0
      }
      // May write a part: what is written twice is better than what is missing.
      try file.writeAll(bytes)
    } catch {
      dropped += bytes.count
      reason = reason ?? error.why
    }
  }
}
