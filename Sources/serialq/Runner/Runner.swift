import Dispatch
import SerialPromises
import SerialqQueue
import SerialqSystem

/// Runs the waiting jobs of a queue, one after another, until there are none.
///
/// Its steps, each in its turn in a `PromiseManager`: *take over* (become the queue's one runner,
/// and find out about jobs whose runner died), then *next job* as often as there is one.
package final class Runner: Sendable {
  let folder: QueueFolder

  /// Who runs the queue.
  package enum Kind {
    /// A person waits for it, and what it stops was stopped by that person: cancelled.
    case foreground
    /// Nobody waits for it, and whoever stops it, as the system does when the machine goes down,
    /// means no job: interrupted.
    case background
  }
  let kind: Kind

  /// What the steps, of which only one runs at a time, know of the queue.
  let view: Locked<QueueView>

  /// Looks after the process of the running job.
  let supervision: Supervision

  /// Told to people: what was found, what is waited for.
  let say: @Sendable (String) -> Void

  /// The lock of the job that is about to be spawned.
  ///
  /// Closed as soon as the job has it: the runner would seem to be one of the job's processes.
  let jobLock = Locked<FileDescriptor?>(nil)

  /// That of the queue's one runner.
  let lock: FileDescriptor
  private let hasLock: Bool
  private let manager = PromiseManager(
    on: DispatchQueue(label: "serialq.runner"), onFailure: .stop, diagnostics: .standardError)
  private let wake: @Sendable () -> Void
  private let state = Locked(State())

  private struct State {
    var isWaitingForLock = false
    var isDone = false
    var failure: Failure?
  }

  /// For one queue; calls `wake` when ``isDone`` has become true, or ``hasWork`` false after a stop.
  ///
  /// `lock` is the queue's runner lock, if whoever started the process has taken it for it.
  package init(
    _ folder: QueueFolder, _ kind: Kind = .foreground, lock: FileDescriptor? = nil,
    say: @escaping @Sendable (String) -> Void, wake: @escaping @Sendable () -> Void
  ) throws(Failure) {
    self.folder = folder
    self.kind = kind
    self.say = say
    self.wake = wake
    hasLock = lock != nil
    if let lock {
      self.lock = lock
    } else {
      self.lock = try RunnerLock.open(folder)
    }
    view = Locked(QueueView(folder))
    supervision = try Supervision(folder)
  }

  /// Begins; it is done when the queue is empty, or something is in the way.
  package func start() {
    manager.add(
      Step("take over") { then in
        self.step(then) { () throws(Failure) in
          guard try self.takeOver() else { return self.finish(nil) }
          self.addNext()
        }
      })
  }

  /// Ends the running job and starts no other; the rest stays in the queue.
  package func stop() { supervision.requestStop(.inOrder) }

  /// Kills the running job.
  package func kill() { supervision.requestStop(.atOnce) }

  /// Whether a stop has anything to wait for: not for a lock that another process holds.
  package var hasWork: Bool { state.withLock { !$0.isWaitingForLock && !$0.isDone } }

  /// Why it ended before the queue was empty, if it did.
  package var failure: Failure? { state.withLock { $0.failure } }

  package var isDone: Bool { state.withLock { $0.isDone } }

  // MARK: Steps

  /// A job may wait.
  func addNext() {
    manager.add(NextJob(runner: self))
  }

  /// Does the work of a step, and ends the run if it fails.
  func step(_ then: Then, _ work: () throws(Failure) -> Void) {
    do throws(Failure) {
      try work()
      then()
    } catch {
      finish(error)
      then(error)
    }
  }

  /// There will be no further step, because nothing waits or because this failed.
  func finish(_ failure: Failure?) {
    // Not only when the process ends: that may be held up by who reads its output, and jobs that are
    // added meanwhile would rely on this runner. One in the background ends by itself, and first writes
    // down why for who finds no runner.
    if failure != nil, kind == .foreground { release() }
    let isFirst = state.withLock { state in
      defer {
        state.isDone = true
        state.failure = state.failure ?? failure
      }
      return !state.isDone
    }
    if isFirst { wake() }
  }

  /// Gives up being the queue's runner; unless it has failed, under the journal's lock, so that no
  /// job is added in between by somebody who still sees a runner at work.
  func release() {
    lock.unlock()
  }

  /// Becomes the queue's runner; false when another is, and this is not to wait for its end.
  private func takeOver() throws(Failure) -> Bool {
    if !hasLock, try !tried(lock) {
      // Not held, it is only being looked at.
      if try RunnerLock.isHeld(folder) {
        // Whoever holds it looks for jobs once more before it gives it up.
        if kind == .background { return false }
        say("serialq: another runner is at work on queue \(folder.name.text); following it")
      }
      try whileWaiting { () throws(Failure) in
        let lock = lock
        try attempt("waiting for a lock") { () throws(SystemError) in try lock.lock() }
      }
    }
    RunnerLock.sign(lock)
    try recover()
    return true
  }

  /// Waits for something that another process does, which may take for ever.
  func whileWaiting(_ wait: () throws(Failure) -> Void) throws(Failure) {
    state.withLock { $0.isWaitingForLock = true }
    // A stop that came just before saw work that was to be waited for.
    if supervision.isStopped { wake() }
    defer { state.withLock { $0.isWaitingForLock = false } }
    try wait()
  }

  func tried(_ lock: FileDescriptor) throws(Failure) -> Bool {
    try attempt("taking a lock") { () throws(SystemError) in try lock.tryLock() }
  }
}

/// The queue as the runner last saw it.
struct QueueView: Sendable {
  var queue = Queue()
  var reader: JournalReader
  var delay = RetryDelay()
  let journal: Journal

  init(_ folder: QueueFolder) {
    reader = JournalReader(folder)
    journal = Journal(folder)
  }

  /// Reads what was appended.
  mutating func update() throws(Failure) {
    _ = try reader.read(into: &queue)
  }
}

extension Runner {
  /// Decides something about the queue as it is, while nobody else can change it.
  func decide<Result>(
    _ work: (inout QueueView, inout JournalScope) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try view.withLock { (view) throws(Failure) in
      let journal = view.journal
      return try journal.locked { (scope) throws(Failure) in
        try view.update()
        return try work(&view, &scope)
      }
    }
  }

  /// The signals with which a running job was asked to end.
  func requests(of id: JobID) throws(Failure) -> [Int32] {
    try view.withLock { (view) throws(Failure) in
      try view.update()
      return view.queue.job(id)?.run?.requests ?? []
    }
  }

  /// Writes down the end of a job, and what follows from it.
  ///
  /// `end` gives it, told whether somebody has asked for it: decided under the journal's lock, or a
  /// request that came after the end was seen would be lost, and the job perhaps tried again.
  func record(
    of job: Job, flush: Bool, as end: (_ isAsked: Bool) -> (Event, JobState)
  ) throws(Failure) {
    try decide { (view, scope) throws(Failure) in
      let current = view.queue.job(job.id) ?? job
      let (end, state) = end(current.run?.requests.isEmpty == false)
      let events = [end] + view.queue.consequences(of: current, ending: state, at: Clock.now())
      let forgotten = events.flatMap { event in
        if case .forgotten(let ids, _) = event { ids } else { [] as [ClosedRange<JobID>] }
      }
      // A log goes only when nothing can bring its job back.
      try scope.append(events, flush: flush || !forgotten.isEmpty)
      folder.removeLogs(forgotten)
    }
    JobLock.remove(job.id, folder)
  }
}
