import Dispatch
import SerialPromises
import SerialqQueue
import SerialqSystem

/// Runs the waiting jobs of a queue in order until it is empty.
///
/// Its steps run in a `PromiseManager`: *take over* acquires the runner lock and recovers orphaned
/// jobs; *next job* runs one job, and repeats while any are waiting. They pass on ``RunnerSteps``.
package final class Runner: Sendable {
  /// How the runner was started.
  package enum Kind {
    /// By a user in a terminal; Ctrl-C cancels the running job.
    case foreground
    /// By serialq; stopping the runner, as at a shutdown, interrupts the running job.
    case background
  }
  private let kind: Kind
  private let supervision: Supervision
  /// Locked by each step for all its work, without contention: no other thread uses it.
  private let steps: Locked<RunnerSteps>
  private let manager = PromiseManager(
    on: DispatchQueue(label: "serialq.runner"), onFailure: .stop, diagnostics: .standardError)
  private let wake: @Sendable () -> Void
  private let state = Locked(State())

  private struct State {
    var reportsChanges = false
    var isDone = false
    var failure: Failure?
  }

  /// The number of threads that a runner can need at the same time.
  package static let threads = 8

  /// Creates a runner; calls `wake` when ``isDone`` becomes true, or ``hasWork`` false after a
  /// stop, and `changed` when the queue has changed, while ``reportsChanges``.
  ///
  /// `lock` is the runner lock if the parent process has already acquired it.
  package init(
    _ folder: QueueFolder, _ kind: Kind = .foreground, lock: FileDescriptor? = nil,
    say: @escaping @Sendable (String) -> Void, wake: @escaping @Sendable () -> Void,
    changed: @escaping @Sendable () -> Void = {}
  ) throws(Failure) {
    self.kind = kind
    self.wake = wake
    let supervision = try Supervision(folder, willWait: changed, wasStopped: wake)
    self.supervision = supervision
    steps = Locked(try RunnerSteps(folder, kind, lock: lock, supervision, say: say))
  }

  /// Starts the runner, also again; it is done when no job can run, or a step has failed.
  ///
  /// `signals` are those that call ``stop(by:)``.
  package func start(heeding signals: StopSignals) {
    supervision.heed(signals)
    state.withLock { state in (state.isDone, state.reportsChanges) = (false, false) }
    add("take over") { [self] (steps) throws(Failure) in
      guard try steps.takeOver() else { return finish(nil) }
      state.withLock { $0.reportsChanges = true }
      wake()
      addNext()
    }
  }

  private func addNext() {
    add("next job") { [self] (steps) throws(Failure) in
      if try steps.runNext() { addNext() } else { finish(nil) }
    }
  }

  /// Terminates the running job and starts no other; waiting jobs stay in the queue.
  ///
  /// Only SIGINT to a foreground run, which is Ctrl-C, cancels the job. Otherwise the user stopped
  /// the runner, or lost the terminal, and the job is interrupted.
  package func stop(by signal: Int32) {
    supervision.requestStop(.inOrder, cancelsJob: kind == .foreground && signal == SIGINT)
  }

  package func kill() { supervision.requestStop(.atOnce) }

  /// Whether a stop must wait for a job; false while blocked on a lock of another process.
  package var hasWork: Bool { !supervision.isBlocked && !isDone }

  /// Why the runner ended early; nil if it did not.
  package var failure: Failure? { state.withLock { $0.failure } }

  package var isDone: Bool { state.withLock { $0.isDone } }

  /// Whether the runner calls `changed` after each change of the queue, by any process.
  ///
  /// It does so only before it waits: a thread that watches the folder itself would interrupt it
  /// between two jobs, on the same processor.
  package var reportsChanges: Bool { state.withLock { $0.reportsChanges } }

  /// Adds a step that does this work, and ends the runner if it fails.
  private func add(
    _ name: String, _ work: @escaping @Sendable (RunnerSteps) throws(Failure) -> Void
  ) {
    manager.add(
      Step(name) { [self] then in
        then(
          steps.withLock { steps -> Failure? in
            do throws(Failure) {
              try work(steps)
              return nil
            } catch {
              // Releases the lock before the process ends: a blocked reader of its output can delay
              // that, and jobs added in the meantime would rely on this runner. A background runner
              // exits by itself, and must first log the failure for the command that finds no
              // runner.
              if kind == .foreground { steps.release() }
              finish(error)
              return error
            }
          })
      })
  }

  /// Ends the runner, because no job is waiting or because of this failure.
  private func finish(_ failure: Failure?) {
    let isFirst = state.withLock { state in
      defer {
        state.isDone = true
        state.failure = state.failure ?? failure
      }
      return !state.isDone
    }
    if isFirst { wake() }
  }
}
