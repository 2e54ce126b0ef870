/// A system call that failed: the call's name and its `errno`.
@usableFromInline package struct SystemError: Error, Equatable {
  package var call: StaticString
  package var code: Int32
  /// What is wrong with the file that was not opened, if that was the reason.
  var fault: FileFault?

  package init(_ call: StaticString, _ code: Int32, _ fault: FileFault? = nil) {
    self.call = call
    self.code = code
    self.fault = fault
  }

  @usableFromInline
  package static func == (left: SystemError, right: SystemError) -> Bool { left.code == right.code }

  /// What the system says about it, by `strerror`.
  package var text: String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }

  /// The failure that a person reads: what was tried, why it did not work, what to do next.
  @usableFromInline package func failure(_ what: String) -> Failure {
    Failure(what, fault?.text ?? "\(text) (\(call))", next: fault?.advice ?? advice)
  }

  /// What to do about it.
  private var advice: String {
    switch code {
    case ENOENT where "\(call)" == "getcwd":
      "The directory that you are in was removed: go to another one with cd."
    case ENOENT:
      "Something on that path is not there: look with ls. A relative one begins where you are."
    case ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG: "Look at that path with ls -ld."
    case ENOSPC, EDQUOT: "Free some space on that disk, then try again: the queue is as it was."
    case EACCES, EPERM: "Look at the owner and the mode of that path with ls -ld."
    case EROFS: "Make the file system writable, or set SERIALQ_DIR to a folder on one that is."
    case EMFILE, ENFILE: "Too many files are open: raise the limit with ulimit -n, then try again."
    case EIO: "The disk reports errors: look at the system log before you rely on it."
    case ENOMEM, EAGAIN:
      "The machine has no memory or no processes left for it: end something, then try again."
    case ENOLCK, ENOSYS, EOPNOTSUPP:
      "That file system lacks what a queue needs: set SERIALQ_DIR to a folder on a local disk."
    default: "Try again; if it stays so, look at the system log."
    }
  }
}

/// Does `work`, and turns a failing system call into the failure of `what`.
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

/// Repeats a call for as long as a signal interrupts it: `EINTR` is never an error.
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
  /// Hands the bytes to a C function that wants a string ending in NUL.
  func withCPath<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: count + 1) { buffer in
      for (index, byte) in enumerated() { buffer[index] = CChar(bitPattern: byte) }
      buffer[count] = 0
      guard let base = buffer.baseAddress else { preconditionFailure("never empty") }
      return body(base)
    }
  }

  /// The path of an entry in the folder that these bytes name.
  package func appending(path name: Bytes) -> Bytes {
    var path = self
    if path.last != UInt8(ascii: "/") { path.append(UInt8(ascii: "/")) }
    path.append(contentsOf: name)
    return path
  }
}
