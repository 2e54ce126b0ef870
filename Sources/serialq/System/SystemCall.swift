/// Makes a system call, and again while a signal interrupts it.
///
/// A failure is one of `doing` something to `name`, such as "reading" a path. Returns -1 if the
/// call fails with the error number `expected`.
package func retrying<Value: SignedInteger>(
  _ call: StaticString, _ doing: StaticString, _ name: Bytes = [], unless expected: Int32 = 0,
  _ body: () -> Value
) throws(Failure) -> Value {
  while true {
    let value = body()
    if value != -1 { return value }
    let number = errno
    if number == expected { return value }
    if number != EINTR { throw Failure(call, number, doing, name) }
  }
}

/// Makes a system call on a path; a signal can interrupt it on a network file system.
func retrying<Value: SignedInteger>(
  _ call: StaticString, _ doing: StaticString, path: Bytes, unless expected: Int32 = 0,
  _ body: (UnsafePointer<CChar>) -> Value
) throws(Failure) -> Value {
  try path.withCString { cString in
    Result { () throws(Failure) in
      try retrying(call, doing, path, unless: expected) { body(cString) }
    }
  }.get()
}

/// Does `work`, and again each second while it fails by a shortage, as long as `isWanted`.
@discardableResult
package func outlastingShortage<Value>(
  while isWanted: () -> Bool = { true }, _ work: () throws(Failure) -> Value
) throws(Failure) -> Value {
  while true {
    do throws(Failure) { return try work() } catch {
      guard error.isShortage, isWanted() else { throw error }
      // Of nothing: it needs no descriptor.
      _ = try waitForInput(on: [], until: Clock.monotonic() + 1_000_000_000)
    }
  }
}

extension Failure {
  /// A failed system call: what was done to `name`, the error of the call, and advice for it.
  package init(
    _ call: StaticString, _ number: Int32, _ doing: StaticString, _ name: Bytes = []
  ) {
    let text = strerror(number).map { String(cString: $0) } ?? "error \(number)"
    self.init(
      Self.what(doing, name), "\(text) (\(call))", next: Self.advice(on: number, of: call),
      number: number)
  }

  /// A file that is not private to this user.
  init(refusing path: Bytes, _ fault: FileFault, _ number: Int32, _ doing: StaticString) {
    self.init(Self.what(doing, path), fault.text, next: fault.advice, number: number)
    isRefusal = true
  }

  private static func what(_ doing: StaticString, _ name: Bytes) -> String {
    name.isEmpty ? "\(doing)" : "\(doing) \(Visible.text(name))"
  }

  /// What to do after this error of this call.
  package static func advice(on number: Int32, of call: StaticString) -> String {
    switch number {
    case ENOENT where "\(call)" == "getcwd":
      "The current directory was removed: change to another one with cd."
    case ENOENT:
      "Check which part of the path exists. A relative one starts in this directory."
    case ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG: "Check that path with ls -ld."
    case EFBIG:
      "Raise the limit on the size of files with ulimit -f, then try again: the queue is unchanged."
    case ENOSPC where "\(call)" == "posix_openpt":
      "End something that uses a terminal, or raise the limit kernel.pty.max with sysctl."
    case ENOSPC, EDQUOT: "Free some space on that disk, then try again: the queue is unchanged."
    case EACCES, EPERM: "Check the owner and the mode of that path with ls -ld."
    case EROFS: "Make the file system writable, or set SERIALQ_DIR to a folder on one that is."
    case EMFILE, ENFILE: "Too many files are open: raise the limit with ulimit -n, then try again."
    case EBADF where "\(call)" == "read":
      "It is closed, or only for writing: connect it to a file with <FILE, or with </dev/null."
    case EIO: "The disk reports errors: check the system log before you rely on it."
    case ENOMEM, EAGAIN: Machine.shortageAdvice(isOfMemory: number == ENOMEM)
    case ENOLCK, ENOSYS, EOPNOTSUPP:
      "That file system lacks a required feature: set SERIALQ_DIR to a folder on a local disk."
    default: "Try again; if the error persists, check the system log."
    }
  }
}
