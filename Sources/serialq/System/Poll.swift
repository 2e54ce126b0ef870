/// Waits by `poll(2)` until a descriptor has input or reaches its end; returns which did.
///
/// Returns all false on timeout. Waits without limit if the timeout is nil. Retries after EINTR.
package func waitForInput(
  on descriptors: [Int32],
  timeoutMilliseconds: Int32?
) throws(SystemError) -> [Bool] {
  var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
  let deadline = timeoutMilliseconds.map { Clock.monotonic() + Int64(max(0, $0)) * 1_000_000 }
  while true {
    // Rounded up: with 0 the loop would spin through the last millisecond.
    let left = deadline.map { max(0, ($0 - Clock.monotonic() + 999_999) / 1_000_000) }
    let count = poll(&entries, nfds_t(entries.count), Int32(clamping: left ?? -1))
    if count >= 0 { return entries.map { $0.revents != 0 } }
    let code = errno
    if code != EINTR { throw SystemError("poll", code) }
  }
}
