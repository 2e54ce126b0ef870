import Dispatch
import SerialqQueue
import SerialqSystem

/// Records in the journal what a keeper notices, and runs the on-ask command.
///
/// On threads of their own: another process may hold the lock of the journal, and the job's output
/// must not wait for it.
final class KeeperReports: Sendable {
  private let folder: QueueFolder
  private let id: JobID
  /// Serial, so that what it reports keeps its order.
  private let journal = DispatchQueue(label: "serialq.keeper.journal")
  private let hooks = DispatchQueue(label: "serialq.keeper.hooks")

  /// The timeout of the on-ask command, in nanoseconds.
  private static let limit: Int64 = 60_000_000_000

  init(_ folder: QueueFolder, _ id: JobID) {
    self.folder = folder
    self.id = id
  }

  /// Records a question, or nil that there is none, and runs the on-ask command for a question.
  func asked(_ question: Question?, runsHook: Bool = true) {
    journal.async { [self] in
      append { $0.asked(question) }
      guard let question, runsHook else { return }
      hooks.async { [self] in run(question) }
    }
  }

  /// Records that output of the job could not be written to its log.
  func unlogged(_ reason: String) {
    journal.async { [self] in append { $0.unlogged(Bytes(reason.utf8)) } }
  }

  /// Waits until everything reported so far is recorded.
  func finish() { journal.sync {} }

  /// Ignores errors: the disk may be full, and the job continues without the report.
  private func append(_ change: (JobStatus) -> JobStatus?) {
    var reader = JournalReader(folder)
    // Before the lock, to hold it only briefly.
    guard (try? reader.read()) != nil else { return }
    try? Journal(folder).locked { (scope) throws(Failure) in
      try scope.read(&reader)
      guard let status = reader.queue.job(id).flatMap({ change($0.status) }) else { return }
      try scope.append([.status(id, status)])
    }
  }

  private func run(_ question: Question) {
    do throws(Failure) {
      let queue = try folder.queue()
      guard let hook = queue.settings.onAsk, let job = queue.job(id) else { return }
      let log = try FileDescriptor.open(folder.askHookLog, .emptyLog)
      let child: ChildProcess
      do throws(Failure) {
        child = try hook.start(
          in: folder, shell: queue.settings.shell, adding: variables(job, question), log: log
        )
      } catch {
        return try log.writeAll(
          Bytes("serialq: the on-ask command cannot run: \(error.sentence)\n".utf8))
      }
      guard let text = try fault(of: child) else { return }
      try log.writeAll(Bytes("serialq: the on-ask command \(text)\n".utf8))
    } catch {
      // The command is a convenience; the question itself is in the journal.
      return
    }
  }

  /// Waits for the end of the command; returns what went wrong, nil if nothing did.
  private func fault(of child: ChildProcess) throws(Failure) -> String? {
    let end = Clock.monotonic() + Self.limit
    if try ProcessHandle(child.pid).waitForEnd(until: end) == false {
      _ = try child.signalGroup(SIGKILL)
      _ = try child.reap()
      return "was killed after 60 seconds"
    }
    let ending = try child.reap()
    return ending == .exited(0) ? nil : "ended with \(ending.shellCode.rawValue)"
  }

  private func variables(_ job: Job, _ question: Question) -> [Bytes] {
    folder.variables(describing: job) + [
      Bytes("SERIALQ_ASKS=\(question.kind.rawValue)".utf8),
      Bytes("SERIALQ_QUESTION=") + question.text,
    ]
  }
}
