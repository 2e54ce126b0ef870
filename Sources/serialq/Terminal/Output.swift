#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The one place that prints: results to standard output, messages to standard error.
///
/// Results are collected and go out with `flush`, so that a command which fails half way has
/// printed nothing.
struct Output {
  private let results: Int32
  private let messages: Int32
  private var pending = Bytes()

  /// Whether nobody reads the results any more (`serialq list | head -1`).
  ///
  /// No failure: whoever reads has seen enough. A command that goes on printing should end.
  private(set) var readerIsGone = false

  init(results: Int32 = STDOUT_FILENO, messages: Int32 = STDERR_FILENO) {
    self.results = results
    self.messages = messages
  }

  /// Has a write to a closed pipe fail (EPIPE) instead of killing the process: `signal(2)`.
  ///
  /// To be called once, at the start; a spawned child gets the default back.
  static func ignoreBrokenPipes() {
    signal(SIGPIPE, SIG_IGN)
  }

  mutating func result(_ text: String) {
    pending += text.utf8
  }

  /// Adds bytes as they are: a job's own output.
  mutating func result(_ bytes: Bytes) {
    pending += bytes
  }

  /// Writes what is pending; fails if it cannot all be written (a full disk).
  mutating func flush() throws(Failure) {
    let bytes = pending
    pending.removeAll(keepingCapacity: true)
    guard !readerIsGone else { return }
    switch Self.writeAll(bytes, to: results) {
    case 0: return
    case EPIPE: readerIsGone = true
    case let error:
      throw Failure(
        "cannot write to standard output", String(cString: strerror(error)),
        next: "What was printed is not complete."
      )
    }
  }

  /// Prints a line to standard error; `text` has to be visible text already.
  ///
  /// Where messages cannot be written there is nobody left to tell.
  func message(_ text: String) {
    _ = Self.writeAll(Bytes("\(text)\n".utf8), to: messages)
  }

  /// Writes all of `bytes`, by `write(2)`; returns 0 or the error number.
  private static func writeAll(_ bytes: Bytes, to descriptor: Int32) -> Int32 {
    bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let part = UnsafeRawBufferPointer(rebasing: rest)
        let written = write(descriptor, part.baseAddress, part.count)
        if written >= 0 {
          rest = rest.dropFirst(written)
        } else if errno == EAGAIN {
          waitUntilWritable(descriptor)
        } else if errno != EINTR {
          return errno
        }
      }
      return 0
    }
  }

  /// Waits: another program may have left a shared terminal or pipe in non-blocking mode.
  private static func waitUntilWritable(_ descriptor: Int32) {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    poll(&request, 1, -1)
  }
}
