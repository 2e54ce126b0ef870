import SerialqSystem

extension QueueFolder {
  /// 16 random hexadecimal digits that identify the folder of the queues among all machines;
  /// created on first use.
  ///
  /// An engine that several machines use distinguishes their jobs by it.
  package func spoolIdentity() throws(Failure) -> Bytes {
    let file = try FileDescriptor.open(spool.appending(path: Bytes(".id")), .lock)
    // Otherwise the runners of two queues could each create one, and only one would last.
    try file.lock()
    let digits = 16
    let content = try file.bytes(from: 0, digits + 1)
    if content.count == digits + 1, content.last == UInt8(ascii: "\n") {
      return Bytes(content.prefix(digits))
    }
    // A crash can have left a part of it. The new one replaces all its bytes.
    let identity = Hex.digits(UInt64.random(in: .min ... .max))
    try file.writeAll(identity + Bytes("\n"))
    return identity
  }
}
