import SerialqSystem

/// Formats jobs for display and for scripts.
extension Job {
  /// The exit code or signal, once the job has ended.
  package var exitText: String {
    switch ending {
    case .exited(let code), .cannotRun(let code, _): "\(code)"
    case .killed(let signal): SignalName.of(signal)
    case nil: ""
    }
  }

  /// Nil unless the job exited or could not be started.
  package var exitCode: Int? { ending?.exitCode }

  package var signalName: Bytes? { ending?.signalName }

  /// What the running job asks on its terminal; a suspended one would not take the answer.
  package var question: Question? { suspendedSince == nil ? running?.question : nil }

  /// Whether the last attempt had a terminal; before the first, whether the job was added with one.
  package var hasTerminal: Bool { hasRun ? hadTerminal : terminal != nil }

  /// The state as a column shows it: a suspended job and one that asks are running, but wait, one
  /// that is being cancelled ends, and a job that waits for a retry has failed before.
  package var stateText: String {
    if suspendedSince != nil { return "suspended" }
    if isCancelRequested { return "ending" }
    if question != nil { return "asking" }
    return state == .waiting && retriesUsed > 0 ? "retrying" : "\(state.name)"
  }

  /// All that ``stateText`` can be.
  package static let stateTexts =
    JobState.allCases.map { "\($0.name)" } + ["suspended", "ending", "asking", "retrying"]

  /// The duration of the attempt without suspensions and the wait in an engine, so far if it is running.
  package var elapsed: Duration? {
    if let duration { return .nanoseconds(duration) }
    guard state == .running else { return nil }
    return running(Clock.reading()).map { .nanoseconds(max(0, $0 - engineWait)) }
  }

  /// The label as a column or a message shows it: not more than 40 columns.
  package var labelText: String? { label.map { Visible.text($0).cut(to: 40) } }

  /// The command as a column shows it: not more than 2,000 columns.
  package var commandText: String { ShellQuote.command(command).cut(to: 2_000) }

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

  /// What is missing to start the job, and since when; nil if nothing is.
  package var missingText: String? {
    guard let missing = waiting?.missing else { return nil }
    let since = waiting?.missingSince.map { ", since \(Humanize.moment($0))" } ?? ""
    return Visible.text(missing).cut(to: 1_000) + since
  }

  /// The jobs that this one requires, or the job because of which it was skipped.
  package var afterText: String { skippedBecause.map { "\($0)" } ?? limits.after.text }

  /// Whether the job has conditions, and runs whatever the results of other jobs are.
  package var ignoresConditions: Bool {
    waiting?.isFree == true && (limits.ifOK || !limits.after.isEmpty)
  }

  package func write(to json: inout JSONWriter, in folder: QueueFolder, of queue: Queue) {
    json.object { json in
      json.member("id", id)
      json.member("state", Bytes(state.name))
      json.member("command", command.words)
      json.member("shell", command.line)
      json.member("label", label)
      json.member("key", key)
      json.member("directory", context.directory)
      json.member("input", folder.input(of: self))
      json.member("exitCode", exitCode)
      json.member("signal", signalName)
      json.member("pid", running?.pid.map { Int($0) })
      json.member("attempt", state == .waiting && !hasRun ? nil : attempts)
      json.member("added", added.rfc3339)
      json.member("started", started?.rfc3339)
      json.member("ended", ended?.rfc3339)
      json.key("duration")
      json.double(duration.map { Double($0) / 1e9 })
      json.member("timeout", limits.timeout > 0 ? limits.timeout : nil)
      json.member("retries", limits.retries)
      json.member("retryDelay", limits.retryDelay)
      json.member("ifOk", limits.ifOK)
      json.key("after")
      let required = limits.after.lazy.flatMap(queue.jobs(in:))
      json.array { json in for job in required { json.int(Int64(job.id)) } }
      json.member("skippedBecause", skippedBecause)
      json.member("suspended", suspendedSince?.rfc3339)
      json.member("tty", hasTerminal)
      json.key("asks")
      if let question { question.write(to: &json) } else { json.null() }
      json.member("unlogged", execution?.unlogged)
      json.member("unreachable", execution?.left)
      json.key("launcher")
      if let launch = execution?.launch { launch.write(to: &json) } else { json.null() }
      json.member("log", folder.log(id))
      json.member("onFinishFailure", failure: over?.hookFailure)
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

extension JSONWriter {
  /// How a command of the settings failed, or null.
  package mutating func member(_ name: StaticString, failure: Ending?) {
    key(name)
    guard let failure else { return null() }
    object { json in
      json.member("exitCode", failure.exitCode)
      json.member("signal", failure.signalName)
    }
  }
}

extension Launch {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("command", command)
      json.member("job", job)
      json.member("node", node)
      json.member("started", started?.rfc3339)
      json.member("lost", lost)
    }
  }
}

extension Question {
  /// What the job does, as a phrase to follow "job 3".
  ///
  /// Only the terminal of a password says so; that a job waits for input is a guess.
  package var phrase: String {
    let verb =
      switch kind {
      case .password: "asks for a password"
      case .input: "seems to wait for input"
      }
    return text.isEmpty ? verb : "\(verb): \(Visible.text(text))"
  }

  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("kind", Bytes(kind.rawValue.utf8))
      json.member("text", text)
    }
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

  /// Nil if a signal terminated the process.
  var exitCode: Int? {
    switch self {
    case .exited(let code), .cannotRun(let code, _): Int(code)
    case .killed: nil
    }
  }

  /// Nil unless a signal terminated the process.
  var signalName: Bytes? {
    if case .killed(let signal) = self { Bytes(SignalName.of(signal).utf8) } else { nil }
  }
}

extension [ClosedRange<JobID>] {
  /// `1-3, 5`.
  package var text: String { map(\.text).joined(separator: ", ") }
}

extension JobState {
  package var name: StaticString {
    switch self {
    case .waiting: "waiting"
    case .running: "running"
    case .succeeded: "succeeded"
    case .failed: "failed"
    case .killed: "killed"
    case .timedOut: "timed-out"
    case .interrupted: "interrupted"
    case .cancelled: "cancelled"
    case .skipped: "skipped"
    }
  }
}
