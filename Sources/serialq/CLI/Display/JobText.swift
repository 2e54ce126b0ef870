import SerialqQueue
import SerialqSystem
import SerialqWatch

/// A job as columns and lines show it.
extension Job {
  /// The exit code or signal, once the job has ended.
  var exitText: String {
    switch ending {
    case .exited(let code), .cannotRun(let code, _): "\(code)"
    case .killed(let signal): SignalName.of(signal)
    case nil: ""
    }
  }

  /// The state as a column shows it: a suspended job and one that asks are running, but wait, one
  /// that is being cancelled ends, and a job that waits for a retry has failed before.
  var stateText: String {
    if suspendedSince != nil { return "suspended" }
    if isCancelRequested { return "ending" }
    if question != nil { return "asking" }
    return state == .waiting && retriesUsed > 0 ? "retrying" : "\(state.name)"
  }

  /// All that ``stateText`` can be.
  static let stateTexts =
    JobState.allCases.map { "\($0.name)" } + ["suspended", "ending", "asking", "retrying"]

  /// The command as a column shows it: not more than 2,000 columns.
  var commandText: String { ShellQuote.command(command).cut(to: 2_000) }

  /// The jobs that this one requires, or the job because of which it was skipped.
  var afterText: String { skippedBecause.map { "\($0)" } ?? limits.after.text }
}

extension Question {
  /// What the job does, as a phrase to follow "job 3".
  ///
  /// Only the terminal of a password says so; that a job waits for input is a guess.
  var phrase: String {
    let verb =
      switch kind {
      case .password: "asks for a password"
      case .input: "seems to wait for input"
      }
    return text.isEmpty ? verb : "\(verb): \(Visible.text(text))"
  }
}

extension [ClosedRange<JobID>] {
  /// `1-3, 5`.
  var text: String { map(\.text).joined(separator: ", ") }
}
