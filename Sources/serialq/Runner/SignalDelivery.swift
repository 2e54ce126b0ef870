import SerialqQueue
import SerialqSystem

/// Sends the signals of a ``Termination`` to the processes that hold a job's lock.
struct SignalDelivery {
  /// What can be expected after the signals so far.
  struct Outlook {
    /// When to look for new processes.
    var next: Int64?
    /// Whether no process is visible that holds the lock.
    var isBlind = true
    /// The processes that cannot be signaled, if no others hold the lock.
    var left: [SignalRounds.Unreachable] = []
  }

  /// The job whose lock the processes inherit; nil for a process without one.
  private let job: Job?
  private let folder: QueueFolder
  private let adopts: Bool
  /// The lock; found with the first signal, which most jobs never receive.
  private var file: LockFile?
  /// How descendants are found, likewise; nil for a launcher, which ends what it has started
  /// itself.
  private var descent: Descent?
  private var descendants: Set<ProcessStatus.Identity> = []
  /// The process group, as long as its number is known to belong to the job.
  private let group: () -> Int32?
  private var rounds = SignalRounds()
  /// Whether the process is a launcher, which alone receives all signals but SIGKILL.
  ///
  /// It passes them on. What it started here, such as `srun`, would end its job at once.
  private let isLauncher: Bool

  /// The number of rounds before waiting: processes could fork as fast as they are found.
  private static let limit = 8

  /// `adopts` is whether this process is the parent of the job's process.
  init(
    to job: Job?, in folder: QueueFolder, adopts: Bool = false, group: @escaping () -> Int32?
  ) {
    (self.job, self.folder, self.adopts, self.group) = (job, folder, adopts, group)
    isLauncher = job?.execution?.launch != nil
  }

  /// Finds the processes of the job, as far as they can be found.
  private mutating func find() throws(Failure) -> LockHolders? {
    guard let file else { return nil }
    let found = try LockHolders.find(
      of: file,
      and: group().flatMap { leader in
        descent.map { ($0, leader) }
      })
    descendants = Set(found?.descendants.map(\.identity) ?? [])
    return found
  }

  /// A live descendant of the job, wherever it has moved.
  mutating func descendant() -> ProcessStatus? { (try? find())?.descendants.first }

  mutating func begin(_ signal: Int32) {
    if file == nil, let job {
      file = JobLock.file(folder.jobLock(job.id), of: group())
      if !isLauncher { descent = Descent(variables: folder.variables(of: job.id), adopts: adopts) }
    }
    if isLauncher, signal != SIGKILL, sendToLauncher(signal) { return }
    rounds.begin(signal, ticks: Machine.bootTicks())
  }

  /// Sends what is due.
  mutating func advance(now: Int64) -> Outlook {
    guard rounds.signal != nil else { return Outlook() }
    for _ in 0..<SignalDelivery.limit {
      let group = group()
      let action: SignalRounds.Action
      do throws(Failure) {
        action = rounds.next(try find(), group: group, now: now)
      } catch {
        action = rounds.nextInShortage(group: group, now: now)
      }
      switch action {
      case .send(let signal, let toGroup, let processes):
        if toGroup, let group { send(signal, toGroup: group) }
        for process in processes {
          // Otherwise it is found again.
          if let error = try? send(signal, to: process) { rounds.note(process, error) }
        }
      case .wait(let until): return Outlook(next: until, isBlind: rounds.isBlind)
      case .stuck(let left):
        // A process that could not be suspended can start others, which could not be either.
        let next = rounds.signal == SIGKILL ? now + SignalRounds.longest : nil
        return Outlook(next: next, isBlind: false, left: left)
      }
    }
    return Outlook(next: now + SignalRounds.shortest, isBlind: rounds.isBlind)
  }

  private func send(_ signal: Int32, toGroup group: Int32) {
    let leader = ChildProcess(pid: group)
    _ = try? leader.signalGroup(signal)
    if SignalRounds.needsContinue(signal) { _ = try? leader.signalGroup(SIGCONT) }
  }

  /// Returns false if the launcher has ended: then what it left behind receives the signal.
  private func sendToLauncher(_ signal: Int32) -> Bool {
    guard let pid = group(), let process = ProcessStatus.of(pid), process.group == pid else {
      return false
    }
    return (try? send(signal, to: process)) == 0
  }

  /// Returns 0 or the error number.
  private func send(_ signal: Int32, to process: ProcessStatus) throws(Failure) -> Int32 {
    guard process.pid > 1 else { return EPERM }
    let handle = ProcessHandle(process.pid)
    // Checked after the handle was opened: the ID may have been reused since the search, or the
    // process may have closed the lock.
    guard try ProcessStatus.found(process.pid)?.identity == process.identity,
      try file?.isHeldOrHidden(process.pid) == true
        || descendants.contains(process.identity) && descent?.isForeign(process.pid) == false
    else { return ESRCH }
    let error = handle.send(signal)
    if error == 0, SignalRounds.needsContinue(signal) { _ = handle.send(SIGCONT) }
    return error
  }
}

extension SignalRounds.Unreachable {
  /// The process and the reason: `process 4242 (sudo): Operation not permitted`.
  var text: String {
    "process \(process.pid) (\(Visible.text(process.name))): \(String(cString: strerror(error)))"
  }
}
