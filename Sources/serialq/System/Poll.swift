/// What to wait for on a descriptor.
package enum Interest: Sendable {
  case read, write, both
  /// Nothing, not even its end: the descriptor cannot end the wait.
  case none
}

/// What a descriptor is ready for, without blocking.
package struct Readiness: Equatable, Sendable {
  package var canRead = false
  package var canWrite = false
  /// Whether the other end is closed or the descriptor has an error; there may be input left.
  package var isClosed = false
}

/// Waits by `poll(2)` until a descriptor is ready for what it is waited for; returns the readiness
/// of each.
///
/// Returns all false at `deadline`, a time of the monotonic clock; without one, waits without
/// limit. Retries after EINTR.
package func waitForReadiness(
  _ list: [(Int32, Interest)], until deadline: Int64?
) throws(Failure) -> [Readiness] {
  var entries = list.map { descriptor, interest in
    // `poll(2)` ignores a negative descriptor. Otherwise it would report the end, which would spin.
    pollfd(fd: interest == .none ? -1 : descriptor, events: interest.events, revents: 0)
  }
  while true {
    // Rounded up: with 0 the loop would spin through the last millisecond.
    let left = deadline.map { max(0, ($0 - Clock.monotonic() + 999_999) / 1_000_000) }
    let count = poll(&entries, nfds_t(entries.count), Int32(clamping: left ?? -1))
    if count >= 0 { return entries.map { Readiness(events: Int32($0.revents)) } }
    let number = errno
    if number != EINTR { throw Failure("poll", number, "waiting") }
  }
}

/// Waits until nothing reads what is written to a descriptor any more.
package func waitForEnd(ofReaderOf descriptor: Int32) throws(Failure) {
  var entry = pollfd(fd: descriptor, events: 0, revents: 0)
  while entry.revents == 0 {
    if poll(&entry, 1, -1) < 0, errno != EINTR { throw Failure("poll", errno, "waiting") }
  }
}

/// Waits as ``waitForReadiness(_:until:)`` does until a descriptor has input or reaches its end;
/// returns which did.
package func waitForInput(
  on descriptors: [Int32], until deadline: Int64?
) throws(Failure) -> [Bool] {
  try waitForReadiness(descriptors.map { ($0, .read) }, until: deadline)
    .map { $0.canRead || $0.isClosed }
}

extension Interest {
  fileprivate var events: Int16 {
    switch self {
    case .read: Int16(POLLIN)
    case .write: Int16(POLLOUT)
    case .both: Int16(POLLIN | POLLOUT)
    case .none: 0
    }
  }
}

extension Readiness {
  fileprivate init(events: Int32) {
    canRead = events & Int32(POLLIN) != 0
    canWrite = events & Int32(POLLOUT) != 0
    isClosed = events & Int32(POLLHUP | POLLERR | POLLNVAL) != 0
  }
}
