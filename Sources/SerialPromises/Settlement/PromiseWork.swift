/// The asynchronous work of a promise, in a task of its own.
///
/// The task is marked with it, so that its code can report progress.
///
/// Sendable because mutable state is accessed only under one of the shared locks.
final class PromiseWork: CancellableWork, ReportingWork, Worker, @unchecked Sendable {
  /// The promise, until the work has ended.
  ///
  /// Not longer: the task may have started others, which inherit its mark, and may never end.
  private var core: Core?
  /// The task of a link, which may begin on the thread that makes it, before there is a handle.
  private var task = CancellableTask()
  /// The task of a root, when it has been made.
  private var handle: Task<Void, Never>?
  /// The contribution of the work to the progress of the promise.
  private let share: ProgressShare

  init(of core: Core, _ share: ProgressShare = ProgressShare()) {
    self.core = core
    self.share = share
  }

  func withTask<Result>(_ body: (inout CancellableTask) -> Result) -> Result {
    SharedLocks.withLock(for: self) { body(&task) }
  }

  func escalate(to priority: TaskPriority) {
    if let handle = SharedLocks.withLock(for: self, { handle }) {
      handle.raise(to: priority)
    } else {
      raiseTask(to: priority)
    }
  }

  /// Stores the handle of the task, by which `cancelHandle` cancels it from now on.
  func store(_ handle: Task<Void, Never>) {
    SharedLocks.withLock(for: self) { self.handle = handle }
  }

  func cancelHandle() { SharedLocks.withLock(for: self) { handle }?.cancel() }

  /// Ends the work; call it before the promise is settled.
  func end() {
    let released = SharedLocks.withLock(for: self) { (core.take(), handle.take()) }
    withExtendedLifetime(released) {}
  }

  /// Reports progress of the work, unless it has ended.
  func report(_ fraction: Double) {
    guard let core = SharedLocks.withLock(for: self, { core }) else { return }
    let (change, effects, reached) = core.withLock { settlement in
      let (change, effects) = settlement.report(fraction, of: share)
      return (change, effects, settlement.progress)
    }
    if change == .refused {
      let identity = core.origin.identity
      core.origin.report(
        .promiseProgressIgnored(identity, current: share.part(of: reached), reported: fraction))
    }
    core.carryOut(effects)
  }
}
