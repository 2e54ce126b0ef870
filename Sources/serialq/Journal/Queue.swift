/// The state of a queue: a pure fold over its events.
///
/// Total: an event whose job is not known, or that cannot follow what was, is left out and changes
/// nothing. Such an event is what damage to an earlier line leaves behind. One that shows that a
/// job ran always counts, so that no job runs a second time because the line that said so was lost.
struct Queue: Equatable, Sendable {
  /// All jobs, by id.
  private(set) var jobs: [Job] = []
  /// The id of the job that will be added next.
  private(set) var nextID: JobID = 1
  /// The jobs in state running, in the order in which they were started.
  ///
  /// More than one only when the end of one was
  /// lost: a runner looks at all of them.
  private(set) var running: [JobID] = []
  private var counts = [Int](repeating: 0, count: JobState.allCases.count)
  /// No job before this place waits.
  private var firstWaitingIndex = 0

  init() {}

  /// The same jobs and the same next id; how the rest came about does not matter.
  static func == (left: Queue, right: Queue) -> Bool {
    left.nextID == right.nextID && left.running == right.running && left.jobs == right.jobs
  }

  /// The job of this id; O(log n), O(1) as long as none was forgotten.
  func job(_ id: JobID) -> Job? { index(of: id).map { jobs[$0] } }

  /// How many jobs are in this state; O(1).
  func count(_ state: JobState) -> Int { counts[Int(state.rawValue)] }

  /// The job that runs next; O(1) amortised over the life of the queue.
  var firstWaiting: Job? {
    firstWaitingIndex < jobs.count ? jobs[firstWaitingIndex] : nil
  }

  /// Applies what a line says; false when the event was left out.
  @discardableResult
  mutating func apply(_ record: Record) -> Bool {
    let counted = apply(record.event)
    // The line knows better than the jobs, some of which may be lost or forgotten.
    nextID = max(record.next, (jobs.last?.id ?? 0) + 1)
    return counted
  }

  /// Steps over an id: a line that cannot be read may have given it to somebody.
  mutating func skipID() { nextID += 1 }

  /// Applies one event; false when it was left out.
  @discardableResult
  mutating func apply(_ event: Event) -> Bool {
    switch event {
    case .added(let new): return add(new)
    case .started(let id, let attempt, let at, let boot):
      guard let index = index(of: id) else { return false }
      if !canStart(jobs[index], attempt) { return false }
      move(index, to: .running)
      jobs[index].run = Job.Run(attempt: attempt, started: at, boot: boot)
    case .spawned(let id, let pid):
      guard let index = active(id) else { return false }
      move(index, to: .running)
      change(index) { $0.pid = pid }
    case .ended(let id, let at, let duration, let how, let cancelled):
      guard let index = active(id) else { return false }
      move(index, to: cancelled ? .cancelled : how.state)
      change(index) {
        $0.pid = nil
        $0.ended = at
        $0.duration = duration
        $0.how = how
      }
    case .interrupted(let id, let at):
      guard let index = active(id) else { return false }
      move(index, to: .interrupted)
      change(index) {
        $0.pid = nil
        $0.ended = at
      }
    case .cancelled(let id, let at):
      guard let index = index(of: id), jobs[index].state == .waiting else { return false }
      let attempt = jobs[index].run?.attempt ?? 0
      move(index, to: .cancelled)
      change(index) {
        $0.attempt = attempt
        $0.ended = at
      }
    case .compacted: break
    }
    return true
  }
}

extension Queue {
  private mutating func add(_ new: NewJob) -> Bool {
    if let last = jobs.last, new.id <= last.id {
      let place = place(of: new.id)
      if jobs[place].id == new.id { return false }
      // Never written like this; a file put together by hand still gives a queue.
      jobs.insert(Job(new), at: place)
      firstWaitingIndex = min(firstWaitingIndex, place)
    } else {
      jobs.append(Job(new))
    }
    counts[Int(JobState.waiting.rawValue)] += 1
    nextID = max(nextID, new.id + 1)
    advanceFirstWaiting()
    return true
  }

  /// A job that ended is started again only by a higher attempt: its retry may have been lost, but
  /// an old line must not wake it.
  private func canStart(_ job: Job, _ attempt: Int) -> Bool {
    switch job.state {
    case .waiting: true
    default: attempt > (job.run?.attempt ?? 0)
    }
  }

  /// The place of a job that waits or runs: the only ones that something can still happen to.
  private func active(_ id: JobID) -> Int? {
    guard let index = index(of: id) else { return nil }
    return jobs[index].state == .waiting || jobs[index].state == .running ? index : nil
  }

  private mutating func change(_ index: Int, _ body: (inout Job.Run) -> Void) {
    var run = jobs[index].run ?? Job.Run()
    body(&run)
    jobs[index].run = run
  }

  /// Puts a job in a state, and keeps everything that follows from the states true.
  private mutating func move(_ index: Int, to state: JobState) {
    let old = jobs[index].state
    counts[Int(old.rawValue)] -= 1
    counts[Int(state.rawValue)] += 1
    jobs[index].state = state
    if old == .running, state != .running { running.removeAll { $0 == jobs[index].id } }
    if state == .running, old != .running { running.append(jobs[index].id) }
    if state == .waiting { firstWaitingIndex = min(firstWaitingIndex, index) }
    advanceFirstWaiting()
  }

  private mutating func advanceFirstWaiting() {
    while firstWaitingIndex < jobs.count, jobs[firstWaitingIndex].state != .waiting {
      firstWaitingIndex += 1
    }
  }

  private func index(of id: JobID) -> Int? {
    // Until something is forgotten, the ids have no gaps.
    if let first = jobs.first, id >= first.id, id - first.id < jobs.count,
      jobs[id - first.id].id == id
    {
      return id - first.id
    }
    let place = place(of: id)
    return place < jobs.count && jobs[place].id == id ? place : nil
  }

  /// The place of the first job whose id is not lower.
  private func place(of id: JobID) -> Int {
    var low = 0
    var high = jobs.count
    while low < high {
      let middle = (low + high) / 2
      if jobs[middle].id < id { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension Ending {
  /// The state of a job that ended like this of its own accord.
  var state: JobState {
    switch self {
    case .exited(0): .succeeded
    case .exited, .cannotRun: .failed
    case .killed: .killed
    }
  }
}
