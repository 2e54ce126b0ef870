/// A failed system call: its name and `errno`.
@usableFromInline package struct SystemError: Error, Equatable {
  package var call: StaticString
  package var code: Int32
  /// Why a file was refused, if that is the cause.
  var fault: FileFault?

  package init(_ call: StaticString, _ code: Int32, _ fault: FileFault? = nil) {
    self.call = call
    self.code = code
    self.fault = fault
  }

  @usableFromInline
  package static func == (left: SystemError, right: SystemError) -> Bool { left.code == right.code }

  /// The description of the error, by `strerror`.
  package var text: String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }

  /// Converts the error to the failure that is printed.
  @usableFromInline package func failure(_ what: String) -> Failure {
    Failure(what, fault?.text ?? "\(text) (\(call))", next: fault?.advice ?? advice)
  }

  private var advice: String {
    switch code {
    case ENOENT where "\(call)" == "getcwd":
      "The current directory was removed: change to another one with cd."
    case ENOENT:
      "Check which part of that path exists; a relative path starts in the current directory."
    case ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG: "Check that path with ls -ld."
    case ENOSPC, EDQUOT: "Free some space on that disk, then try again: the queue is unchanged."
    case EACCES, EPERM: "Check the owner and the mode of that path with ls -ld."
    case EROFS: "Make the file system writable, or set SERIALQ_DIR to a folder on one that is."
    case EMFILE, ENFILE: "Too many files are open: raise the limit with ulimit -n, then try again."
    case EIO: "The disk reports errors: check the system log before you rely on it."
    case ENOMEM, EAGAIN:
      "The machine is out of memory or processes: end something, then try again."
    case ENOLCK, ENOSYS, EOPNOTSUPP:
      "That file system lacks a required feature: set SERIALQ_DIR to a folder on a local disk."
    default: "Try again; if the error persists, check the system log."
    }
  }
}

/// Runs `work` and converts a failed system call to a failure of `what`.
@inlinable package func attempt<Result>(
  _ what: @autoclosure () -> String,
  _ work: () throws(SystemError) -> Result
) throws(Failure) -> Result {
  do throws(SystemError) {
    return try work()
  } catch {
    throw error.failure(what())
  }
}

/// Retries a call while a signal interrupts it: `EINTR` is never reported.
func retrying<Value: SignedInteger>(
  _ call: StaticString,
  _ body: () -> Value
) throws(SystemError) -> Value {
  while true {
    let value = body()
    if value != -1 { return value }
    let code = errno
    if code != EINTR { throw SystemError(call, code) }
  }
}

extension Array where Element == UInt8 {
  /// Calls `body` with the bytes as a NUL-terminated C string.
  func withCPath<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: count + 1) { buffer in
      for (index, byte) in enumerated() { buffer[index] = CChar(bitPattern: byte) }
      buffer[count] = 0
      guard let base = buffer.baseAddress else { preconditionFailure("never empty") }
      return body(base)
    }
  }

  /// The path of an entry in the folder that this path names.
  package func appending(path name: Bytes) -> Bytes {
    var path = self
    if path.last != UInt8(ascii: "/") { path.append(UInt8(ascii: "/")) }
    path.append(contentsOf: name)
    return path
  }
}
