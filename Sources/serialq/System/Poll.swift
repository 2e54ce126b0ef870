/// Waits by `poll(2)` until a descriptor has input or reaches its end; returns which did.
///
/// Returns all false at `deadline`, a time of the monotonic clock; without one, waits without
/// limit. Retries after EINTR.
package func waitForInput(
  on descriptors: [Int32], until deadline: Int64?
) throws(Failure) -> [Bool] {
  var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
  while true {
    // Rounded up: with 0 the loop would spin through the last millisecond.
    let left = deadline.map { max(0, ($0 - Clock.monotonic() + 999_999) / 1_000_000) }
    let count = poll(&entries, nfds_t(entries.count), Int32(clamping: left ?? -1))
    if count >= 0 { return entries.map { $0.revents != 0 } }
    let number = errno
    if number != EINTR { throw Failure("poll", number, "waiting") }
  }
}

/// Waits as ``waitForInput(on:until:)`` does, for at most this long.
package func waitForInput(
  on descriptors: [Int32], timeoutMilliseconds: Int32?
) throws(Failure) -> [Bool] {
  try waitForInput(
    on: descriptors,
    until: timeoutMilliseconds.map { Clock.monotonic() + Int64(max(0, $0)) * 1_000_000 })
}
