import SerialqQueue
import SerialqSystem

// The process that has another engine execute a job, in place of the job's own process.
//
// Everything else is as for the process of a job: log, input, session, lock, time limit. The
// launcher alone receives the signals, and passes them on; see ``SignalDelivery``.
extension Launch {
  /// Creates the file for the report, and returns the variables that the launcher finds.
  static func prepare(
    _ job: Job, in folder: QueueFolder, words count: Int
  ) throws(Failure) -> [Bytes] {
    let path = folder.launcherResult(job.id)
    // A launcher that an earlier attempt left behind must not write to the report of this one.
    try FileSystem.remove(path)
    _ = try FileDescriptor.open(path, .new)
    let attempt = job.attempts
    let key = try folder.spoolIdentity() + Bytes("/\(folder.name)".utf8)
    return folder.variables(of: job.id) + [
      Bytes("SERIALQ_ATTEMPT=\(attempt)".utf8), Bytes("SERIALQ_WORDS=\(count)".utf8),
      Bytes("SERIALQ_KEY=") + key + Bytes("/\(job.id)/\(attempt)".utf8),
      Bytes("SERIALQ_RESULT=") + path,
    ]
  }

  /// The arguments that execute a job with these arguments.
  func arguments(for words: [Bytes]) -> [Bytes] {
    // The shell splits the line, and the launcher replaces it, so that it receives the signals. If
    // that fails, nothing was executed, and the trap says so; bash needs the option.
    let line =
      Bytes(
        """
        trap 'c=$?; [ $c = 127 ] || c=126
        echo "cannot $c its launcher could not be executed" >>"$SERIALQ_RESULT"' EXIT
        shopt -s execfail 2>/dev/null
        exec\u{20}
        """) + command + Bytes(" \"$@\"")
    return [Command.standardShell, Bytes("-c"), line, Bytes("sh")] + words
  }
}
