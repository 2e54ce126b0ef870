import SerialqQueue
import SerialqSystem

/// A job as messages name and describe it.
extension Job {
  /// The label as a column or a message shows it: not more than 40 columns.
  package var labelText: String? { label.map { Visible.text($0).cut(to: 40) } }

  /// The label and the command, on one line of not more than 200 columns.
  package var title: String { title(columns: 200) }

  package func title(columns: Int) -> String {
    let command = ShellQuote.command(command)
    return (labelText.map { "\($0): \(command)" } ?? command).cut(to: columns)
  }

  /// The outcome, as a phrase to follow "job 3".
  package var outcomeText: String {
    unloggedText.map { "\(outcome); \($0)" } ?? outcome
  }

  /// Why output is missing in its log; nil if none is.
  package var unloggedText: String? {
    execution?.unlogged.map { "output is missing in its log: \(Visible.text($0).cut(to: 1_000))" }
  }

  /// What is missing to start the job, and since when; nil if nothing is.
  package var missingText: String? {
    guard let missing = waiting?.missing else { return nil }
    let since = waiting?.missingSince.map { ", since \(Humanize.moment($0))" } ?? ""
    return Visible.text(missing).cut(to: 1_000) + since
  }

  private var outcome: String {
    let time = elapsed.map { " after \(Humanize.duration($0))" } ?? ""
    let how = ending?.outcomeText ?? ""
    switch (state, ending) {
    case (.failed, .cannotRun?): return how
    case (.failed, _), (.killed, _): return how + time
    case (.succeeded, _): return "succeeded\(time)"
    case (.cancelled, _): return "was cancelled\(time)"
    case (.timedOut, _): return "timed out\(time)"
    case (.skipped, _):
      let job = skippedBecause.map { "job \($0)" } ?? "the job before it"
      return "was skipped because \(job) did not succeed"
    case (.interrupted, _):
      let isStopped = over?.outcome == .interrupted(isStopped: true)
      let runner = "its runner \(isStopped ? "was stopped" : "died")"
      let reason = execution?.launch?.lost.map { Visible.text($0).cut(to: 1_000) }
      return "was interrupted: \(reason ?? runner), outcome unknown"
    case (.waiting, _): return "waits"
    case (.running, _) where suspendedSince != nil: return "is suspended\(time)"
    case (.running, _):
      return "has been running\(elapsed.map { " for \(Humanize.duration($0))" } ?? "")"
    }
  }
}

extension Queue {
  /// That the next job cannot be started because of a shortage; nil if it can.
  package var shortage: String? {
    guard !isPaused, let job = firstWaiting, let missing = job.missingText else { return nil }
    return "cannot start job \(job.id) yet: \(missing)"
  }
}

extension Ending {
  /// The outcome of a process that did not succeed, as a phrase.
  package var outcomeText: String {
    switch self {
    case .exited(let code): "failed with exit code \(code)"
    case .killed(let signal): "was killed by \(SignalName.of(signal))"
    case .cannotRun(let code, let reason):
      "could not be run (\(code)): \(Visible.text(reason).cut(to: 1_000))"
    }
  }
}
