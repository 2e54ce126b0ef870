import Testing

@testable import SerialqRunner
@testable import SerialqSystem

/// Which processes receive the signals of a job.
@Suite struct SignalRoundsTests {
  private func process(
    _ pid: Int32, started: UInt64 = 1, parent: Int32 = 1, group: Int32, session: Int32? = nil,
    isStopped: Bool = false
  ) -> ProcessStatus {
    ProcessStatus(
      identity: ProcessStatus.Identity(pid: pid, started: started), name: Bytes("p\(pid)".utf8),
      parent: parent, group: group, session: session ?? group, isStopped: isStopped)
  }

  // Fails if a fork that the search missed survives SIGTERM, or if a command that a trap starts is
  // ended by it.
  @Test("SIGTERM also goes to a process that was being started, not to one started afterwards")
  func startedMeanwhile() {
    var rounds = SignalRounds()
    rounds.begin(SIGTERM, ticks: 5)
    _ = rounds.next(LockHolders(), group: nil, now: 0)
    let (forked, cleaning) = (
      process(20, started: 4, group: 20), process(21, started: 5, group: 21)
    )
    let seen = LockHolders(known: [forked, cleaning])
    #expect(rounds.next(seen, group: nil, now: 0) == .send(SIGTERM, toGroup: false, [forked]))
    rounds.note(forked, 0)
    #expect(rounds.next(seen, group: nil, now: 0) == .wait(until: nil))
    rounds.begin(SIGKILL, ticks: 9)
    #expect(
      rounds.next(seen, group: nil, now: 0) == .send(SIGKILL, toGroup: true, [forked, cleaning]))
  }

  // Fails if the first search after a shortage counts as a later one, the group is signaled twice,
  // or what could not be seen is given up.
  @Test("a shortage delays the signal of all but the group, and no process is given up in it")
  func shortage() {
    var rounds = SignalRounds()
    rounds.begin(SIGTERM, ticks: 5)
    #expect(rounds.nextInShortage(group: 20, now: 0) == .send(SIGTERM, toGroup: true, []))
    #expect(rounds.nextInShortage(group: 20, now: 0) == .wait(until: SignalRounds.shortest))
    #expect(!rounds.isBlind)
    let (inside, outside) = (process(20, group: 20), process(21, started: 9, group: 21))
    let seen = LockHolders(known: [inside, outside])
    #expect(rounds.next(seen, group: 20, now: 0) == .send(SIGTERM, toGroup: false, [outside]))
  }

  // Fails if processes that are started faster than they are found survive, or if the runner spins.
  @Test("SIGKILL is repeated for new processes, at growing intervals, until none holds the lock")
  func killAll() {
    var rounds = SignalRounds()
    rounds.begin(SIGKILL, ticks: 0)
    let first = process(30, group: 30)
    #expect(
      rounds.next(LockHolders(known: [first]), group: nil, now: 0)
        == .send(SIGKILL, toGroup: true, [first]))
    rounds.note(first, 0)
    var (now, intervals) = (Int64(0), [Int64]())
    for _ in 0..<9 {
      guard case .wait(let until?) = rounds.next(LockHolders(known: [first]), group: nil, now: now)
      else { break }
      intervals.append(until - now)
      now = until
    }
    #expect(intervals.first == SignalRounds.shortest && intervals.last == SignalRounds.longest)
    #expect(intervals == intervals.sorted() && intervals.count == 9)
    let later = process(31, started: 99, group: 30)
    #expect(
      rounds.next(LockHolders(known: [first, later]), group: nil, now: now)
        == .send(SIGKILL, toGroup: false, [later]))
    rounds.note(later, ESRCH)
    #expect(
      rounds.next(LockHolders(), group: nil, now: now)
        == .wait(until: now + SignalRounds.shortest))
    #expect(rounds.isBlind)
  }

  // Fails if the queue continues while a process can still end, or waits forever for one that
  // cannot be signaled.
  @Test("only processes that cannot be signaled are left, and named")
  func unreachable() {
    var rounds = SignalRounds()
    rounds.begin(SIGKILL, ticks: 0)
    let (own, foreign) = (process(40, group: 40), process(41, group: 41))
    _ = rounds.next(LockHolders(known: [own, foreign]), group: nil, now: 0)
    rounds.note(own, 0)
    rounds.note(foreign, EPERM)
    #expect(
      rounds.next(LockHolders(known: [own, foreign]), group: nil, now: 0)
        == .wait(until: SignalRounds.shortest))
    let left = SignalRounds.Unreachable(process: foreign, error: EPERM)
    #expect(rounds.next(LockHolders(known: [foreign]), group: nil, now: 0) == .stuck([left]))
    #expect(left.text == "process 41 (p41): Operation not permitted")
    // It may be possible by now: after setuid(2), for example.
    rounds.begin(SIGKILL, ticks: 0)
    #expect(
      rounds.next(LockHolders(known: [foreign]), group: nil, now: 0)
        == .send(SIGKILL, toGroup: true, [foreign]))
  }

  // Fails if a process of another user is blamed although it has nothing to do with the job, or is
  // forgotten when its parent has ended.
  @Test("a process with hidden descriptors counts only if it descends from the job")
  func hidden() {
    var rounds = SignalRounds()
    rounds.begin(SIGKILL, ticks: 0)
    let stranger = process(2, group: 2)
    let related = process(51, parent: 50, group: 51)
    let leader = process(50, group: 50)
    let seen = LockHolders(known: [leader], hidden: [stranger, related])
    #expect(rounds.next(seen, group: 50, now: 0) == .send(SIGKILL, toGroup: true, [leader]))
    rounds.note(leader, 0)
    let adopted = LockHolders(hidden: [stranger, process(51, parent: 1, group: 51)])
    let target = process(51, parent: 1, group: 51)
    #expect(rounds.next(adopted, group: 50, now: 0) == .send(SIGKILL, toGroup: false, [target]))
    rounds.note(target, EPERM)
    #expect(
      rounds.next(adopted, group: 50, now: 0)
        == .stuck([SignalRounds.Unreachable(process: target, error: EPERM)]))
  }

  // Fails if a process that was started meanwhile runs on, or if the runner searches forever.
  @Test("SIGSTOP is repeated for new processes until two searches find only stopped ones")
  func stopAll() {
    var rounds = SignalRounds()
    rounds.begin(SIGSTOP, ticks: 5)
    let first = process(10, group: 10)
    let late = process(11, started: 9, group: 10)
    func seen(_ processes: ProcessStatus...) -> LockHolders {
      LockHolders(
        known: processes.map { process in
          var process = process
          process.isStopped = true
          return process
        })
    }
    #expect(
      rounds.next(LockHolders(known: [first]), group: 10, now: 0)
        == .send(SIGSTOP, toGroup: true, [first]))
    rounds.note(first, 0)
    #expect(
      rounds.next(LockHolders(known: [first]), group: 10, now: 0)
        == .wait(until: SignalRounds.shortest))
    #expect(rounds.next(seen(first), group: 10, now: 10) == .wait(until: 10))
    let both = LockHolders(known: seen(first).known + [late])
    #expect(rounds.next(both, group: 10, now: 10) == .send(SIGSTOP, toGroup: false, [late]))
    rounds.note(late, 0)
    guard case .wait(_?) = rounds.next(both, group: 10, now: 10) else {
      Issue.record("still running")
      return
    }
    #expect(rounds.next(seen(first, late), group: 10, now: 20) == .wait(until: 20))
    #expect(rounds.next(seen(first, late), group: 10, now: 20) == .wait(until: nil))
    rounds.begin(SIGCONT, ticks: 30)
    let outside = process(12, group: 12, isStopped: true)
    let all = LockHolders(known: seen(first, late).known + [outside])
    #expect(rounds.next(all, group: 10, now: 30) == .send(SIGCONT, toGroup: true, [outside]))
    rounds.note(outside, 0)
    #expect(rounds.next(all, group: 10, now: 30) == .wait(until: nil))
    #expect(rounds.signal == nil)
  }

  // Fails if a process that runs as another user is forgotten, or searched for again and again.
  @Test("a process that cannot be stopped is named, when all others are stopped")
  func unstoppable() {
    var rounds = SignalRounds()
    rounds.begin(SIGSTOP, ticks: 5)
    let own = process(10, group: 10)
    let foreign = process(11, parent: 10, group: 10)
    _ = rounds.next(LockHolders(known: [own], hidden: [foreign]), group: 10, now: 0)
    rounds.note(own, 0)
    rounds.note(foreign, EPERM)
    let stopped = process(10, group: 10, isStopped: true)
    let seen = LockHolders(known: [stopped], hidden: [foreign])
    #expect(rounds.next(seen, group: 10, now: 0) == .wait(until: 0))
    let left = SignalRounds.Unreachable(process: foreign, error: EPERM)
    #expect(rounds.next(seen, group: 10, now: 0) == .stuck([left]))
  }

  // Fails if a system without /proc loops, or if its process group receives no signal.
  @Test("where processes cannot be found, the group receives each signal once")
  func withoutProc() {
    var rounds = SignalRounds()
    for signal in [SIGTERM, SIGKILL] {
      rounds.begin(signal, ticks: 0)
      #expect(rounds.next(nil, group: 60, now: 0) == .send(signal, toGroup: true, []))
      #expect(rounds.next(nil, group: 60, now: 0) == .wait(until: nil))
      #expect(rounds.isBlind)
    }
  }
}
