/// Sleeps until one of the descriptors has input or is at its end, by `poll(2)`, and says which.
///
/// None when the time is over; without a time it sleeps for as long as it takes. A signal does not
/// cut it short.
package func waitForInput(
  on descriptors: [Int32],
  timeoutMilliseconds: Int32?
) throws(SystemError) -> [Bool] {
  var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
  let deadline = timeoutMilliseconds.map { Clock.monotonic() + Int64(max(0, $0)) * 1_000_000 }
  while true {
    // Rounded up, or the last part of a millisecond would be spent spinning.
    let left = deadline.map { max(0, ($0 - Clock.monotonic() + 999_999) / 1_000_000) }
    let count = poll(&entries, nfds_t(entries.count), Int32(clamping: left ?? -1))
    if count >= 0 { return entries.map { $0.revents != 0 } }
    let code = errno
    if code != EINTR { throw SystemError("poll", code) }
  }
}
