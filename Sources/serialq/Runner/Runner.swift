import Dispatch
import SerialPromises

/// Runs the waiting jobs of a queue, one after another, until there are none.
///
/// Its steps, each in its turn in a `PromiseManager`: *take over* (become the queue's one runner,
/// and find out about jobs whose runner died), then *next job* as often as there is one.
final class Runner: Sendable {
  let folder: QueueFolder

  /// What the steps, of which only one runs at a time, know of the queue.
  let view: Locked<QueueView>

  /// The process of the running job.
  let child = RunningChild()

  /// Told to people: what was found, what is waited for.
  let say: @Sendable (String) -> Void

  /// That of the queue's one runner.
  let lock: FileDescriptor
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
  init(
    _ folder: QueueFolder, say: @escaping @Sendable (String) -> Void,
    wake: @escaping @Sendable () -> Void
  ) throws(Failure) {
    self.folder = folder
    self.say = say
    self.wake = wake
    lock = try RunnerLock.open(folder)
    view = Locked(QueueView(folder))
  }

  /// Begins; it is done when the queue is empty, or something is in the way.
  func start() {
    manager.add(
      Step("take over") { then in
        self.step(then) { () throws(Failure) in try self.takeOver() }
      })
    addNext()
  }

  /// Ends the running job and starts no other; the rest stays in the queue.
  func stop() {
    child.end()
  }

  /// Whether a stop has anything to wait for: not for a lock that another process holds.
  var hasWork: Bool { state.withLock { !$0.isWaitingForLock && !$0.isDone } }

  /// Why it ended before the queue was empty, if it did.
  var failure: Failure? { state.withLock { $0.failure } }

  var isDone: Bool { state.withLock { $0.isDone } }

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
    let isFirst = state.withLock { state in
      defer {
        state.isDone = true
        state.failure = state.failure ?? failure
      }
      return !state.isDone
    }
    if isFirst { wake() }
  }

  /// Gives up being the queue's runner; under the journal's lock, so that no job is added in
  /// between by somebody who still sees a runner at work.
  func release() {
    lock.unlock()
  }

  private func takeOver() throws(Failure) {
    if try !tried(lock) {
      // Not held, it is only being looked at.
      if try RunnerLock.isHeld(folder) {
        say("serialq: another runner is at work on queue \(folder.name.text); following it")
      }
      try wait(for: lock)
    }
    try recover()
  }

  /// Waits for a lock that another process holds, which may take for ever.
  func wait(for lock: FileDescriptor) throws(Failure) {
    state.withLock { $0.isWaitingForLock = true }
    // A stop that came just before saw work that was to be waited for.
    if child.isToldToEnd { wake() }
    defer { state.withLock { $0.isWaitingForLock = false } }
    try attempt("waiting for a lock") { () throws(SystemError) in try lock.lock() }
  }

  func tried(_ lock: FileDescriptor) throws(Failure) -> Bool {
    try attempt("taking a lock") { () throws(SystemError) in try lock.tryLock() }
  }
}

/// The queue as the runner last saw it.
struct QueueView: Sendable {
  var queue = Queue()
  var reader: JournalReader
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
