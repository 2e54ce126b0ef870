import SerialqQueue
import SerialqSystem

/// The process that has another engine execute a job, in place of the job's own process.
///
/// Everything else is as for the process of a job: log, input, session, lock, time limit. The
/// launcher alone receives the signals, and passes them on; see ``SignalDelivery``.
struct Launcher {
  private let launch: Launch
  private let job: Job
  private let folder: QueueFolder

  /// Nil if no launcher executes the attempt.
  init?(of job: Job, in folder: QueueFolder) {
    guard let launch = job.execution?.launch else { return nil }
    self.launch = launch
    self.job = job
    self.folder = folder
  }

  /// Creates the file for the report, and returns the variables that the launcher finds.
  func prepare(words count: Int) throws(Failure) -> [Bytes] {
    let path = folder.launcherResult(job.id)
    // A launcher that an earlier attempt left behind must not write to that of this attempt.
    try FileSystem.remove(path)
    _ = try FileDescriptor.open(path, .new)
    let attempt = job.attempts
    let key = try folder.spoolIdentity() + Bytes("/") + folder.name
    return folder.variables(of: job.id) + [
      Bytes("SERIALQ_ATTEMPT=\(attempt)".utf8), Bytes("SERIALQ_WORDS=\(count)".utf8),
      Bytes("SERIALQ_KEY=") + key + Bytes("/\(job.id)/\(attempt)".utf8),
      Bytes("SERIALQ_RESULT=") + path,
    ]
  }

  /// The arguments that execute a job with these arguments.
  func arguments(for words: [Bytes]) -> [Bytes] {
    // The shell splits the line, and the launcher replaces it, so that it receives the signals.
    let line = Bytes("exec ") + launch.command + Bytes(" \"$@\"")
    return [Command.standardShell, Bytes("-c"), line, Bytes("sh")] + words
  }
}
