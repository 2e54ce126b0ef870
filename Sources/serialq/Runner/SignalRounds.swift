import SerialqSystem

/// Decides which of the processes that hold a job's lock receive a signal next.
///
/// Pure; times are nanoseconds of the monotonic clock.
///
/// - *idle* → sending (a signal is due);
/// - *sending* → sending (another signal, or another process), stuck (only processes that cannot be
///   signaled hold the lock);
/// - *stuck* → sending (another signal, or another process).
struct SignalRounds {
  enum Action: Equatable {
    /// Send the signal to these processes, and to the job's process group.
    case send(Int32, toGroup: Bool, [ProcessStatus])
    /// Nothing to send. Look again at this time.
    case wait(until: Int64?)
    /// Only these processes hold the lock, and none of them can be signaled.
    case stuck([Unreachable])
  }

  /// A process that cannot be signaled, and the error number of the attempt.
  struct Unreachable: Equatable {
    var process: ProcessStatus
    var error: Int32
  }

  /// The intervals at which to look for new processes after SIGKILL.
  static let shortest: Int64 = 10_000_000
  static let longest: Int64 = 1_000_000_000

  /// The signal of the present round; nil before the first.
  private(set) var signal: Int32?
  /// Whether no process was visible that holds the lock.
  private(set) var isBlind = true
  private var isFirst = false
  /// Whether the group has received the signal in a shortage, before the first search.
  private var isGroupTold = false
  private var begun: UInt64 = 0
  private var reached: Set<ProcessStatus.Identity> = []
  /// Processes that could hold the lock, but whose descriptors are hidden.
  private var suspects: Set<ProcessStatus.Identity> = []
  private var unreachable: [ProcessStatus.Identity: Int32] = [:]
  private var interval = SignalRounds.shortest
  /// Whether the last search found only stopped processes.
  private var wereStopped = false

  /// Starts to send this signal; `ticks` is the present time of ``Machine/bootTicks()``.
  mutating func begin(_ signal: Int32, ticks: UInt64) {
    self.signal = signal
    (isFirst, isGroupTold) = (true, false)
    begun = ticks
    reached = []
    unreachable = [:]
    interval = SignalRounds.shortest
    wereStopped = false
  }

  /// The next action, given the processes that hold the lock; nil if they cannot be found.
  ///
  /// `group` is the job's process group. A signal to a group also reaches a process that is being
  /// forked.
  mutating func next(_ seen: LockHolders?, group: Int32?, now: Int64) -> Action {
    guard let signal else { return .wait(until: nil) }
    // A process whose descriptors are hidden is ended only if nothing else explains the lock.
    // Remembered: once its parent has ended, nothing relates it to the job.
    suspects.formUnion(seen?.hidden(relatedTo: group).map(\.identity) ?? [])
    let isEnd = ![SIGSTOP, SIGCONT].contains(signal)
    let isHiddenToo = isEnd ? seen?.known.isEmpty == true && signal == SIGKILL : true
    let hidden = isHiddenToo ? seen?.hidden ?? [] : []
    let holders = (seen?.known ?? []) + hidden.filter { suspects.contains($0.identity) }
    isBlind = holders.isEmpty
    var targets = holders.filter {
      !reached.contains($0.identity) && unreachable[$0.identity] == nil
    }
    if signal != SIGKILL, signal != SIGSTOP {
      reached.formUnion(targets.lazy.filter { $0.group == group }.map(\.identity))
      targets.removeAll { $0.group == group }
      // A process that started after the signal may be cleaning up because of it. SIGKILL ends it.
      if !isFirst { targets.removeAll { $0.identity.started >= begun } }
    }
    defer { isFirst = false }
    if seen == nil, !isFirst { return .wait(until: nil) }
    if isFirst || !targets.isEmpty {
      interval = SignalRounds.shortest
      return .send(signal, toGroup: isFirst && !isGroupTold, targets)
    }
    // Only SIGKILL ends every process, and only SIGSTOP stops every one; a process may have forked
    // another before it received it.
    guard signal == SIGKILL || signal == SIGSTOP else {
      if signal == SIGCONT { self.signal = nil }
      return .wait(until: nil)
    }
    if signal == SIGSTOP {
      let areStopped = holders.allSatisfy { $0.isStopped || unreachable[$0.identity] != nil }
      defer { wereStopped = areStopped }
      // Again: a process that was not stopped when the search began could have forked one that the
      // search missed.
      if areStopped, wereStopped {
        let left = left(of: holders)
        return left.isEmpty ? .wait(until: nil) : .stuck(left)
      }
      if areStopped { return .wait(until: now) }
    }
    let left = left(of: holders)
    if !left.isEmpty, left.count == holders.count { return .stuck(left) }
    defer { interval = min(interval * 2, SignalRounds.longest) }
    return .wait(until: now + interval)
  }

  /// The next action while processes cannot be searched for: to the group at once, and then look
  /// again.
  ///
  /// No other process is known, and none is given up.
  mutating func nextInShortage(group: Int32?, now: Int64) -> Action {
    isBlind = false
    guard let signal else { return .wait(until: nil) }
    if isFirst, !isGroupTold, group != nil {
      isGroupTold = true
      return .send(signal, toGroup: true, [])
    }
    defer { interval = min(interval * 2, SignalRounds.longest) }
    return .wait(until: now + interval)
  }

  private func left(of holders: [ProcessStatus]) -> [Unreachable] {
    holders.compactMap { process in
      unreachable[process.identity].map { Unreachable(process: process, error: $0) }
    }
  }

  /// Notes the result of sending the signal to a process: 0 or the error number.
  mutating func note(_ process: ProcessStatus, _ error: Int32) {
    switch error {
    // It has ended.
    case 0, ESRCH: reached.insert(process.identity)
    default: unreachable[process.identity] = error
    }
  }

  /// Whether a stopped process must be continued to receive the signal.
  static func needsContinue(_ signal: Int32) -> Bool {
    ![SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT].contains(signal)
  }
}
