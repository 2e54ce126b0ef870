import SerialqSystem

/// Formats jobs for display and for scripts.
extension Job {
  /// The exit code or signal, once the job has ended.
  package var exitText: String {
    switch run?.how {
    case .exited(let code), .cannotRun(let code, _): "\(code)"
    case .killed(let signal): SignalName.of(signal)
    case nil: ""
    }
  }

  /// Nil unless the job exited or could not be started.
  package var exitCode: Int? { run?.how?.exitCode }

  package var signalName: Bytes? { run?.how?.signalName }

  /// The duration of the attempt, so far if it is running.
  package var elapsed: Duration? {
    if let duration = run?.duration { return .nanoseconds(duration) }
    guard state == .running else { return nil }
    return sinceStart(Clock.reading()).map { .nanoseconds($0) }
  }

  /// The label and the command, on one line.
  package var title: String {
    let command = ShellQuote.command(command)
    return label.map { "\(Visible.text($0)): \(command)" } ?? command
  }

  /// The outcome, as a phrase to follow "job 3".
  package var outcomeText: String {
    let time = elapsed.map { " after \(Humanize.duration($0))" } ?? ""
    let how = run?.how?.outcomeText ?? ""
    switch (state, run?.how) {
    case (.failed, .cannotRun?): return how
    case (.failed, _), (.killed, _): return how + time
    case (.succeeded, _): return "succeeded\(time)"
    case (.cancelled, _): return "was cancelled\(time)"
    case (.timedOut, _): return "timed out\(time)"
    case (.skipped, _):
      let job = run?.because.map { "job \($0)" } ?? "the job before it"
      return "was skipped because \(job) did not succeed"
    case (.interrupted, _): return "was interrupted: its runner died, outcome unknown"
    case (.waiting, _): return "waits"
    case (.running, _): return "has been running\(time.replacingAfter)"
    }
  }

  package func write(to json: inout JSONWriter, log: Bytes) {
    json.object { json in
      json.member("id", id)
      json.member("state", Bytes(state.name))
      switch command {
      case .shell(let line):
        json.member("command", nil as Bytes?)
        json.member("shell", line)
      case .arguments(let words):
        json.member("command", words)
        json.member("shell", nil as Bytes?)
      }
      json.member("label", label)
      json.member("directory", context.directory)
      json.member("exitCode", exitCode)
      json.member("signal", signalName)
      json.member("attempt", run?.attempt)
      json.member("added", added.rfc3339)
      json.member("started", run?.started?.rfc3339)
      json.member("ended", run?.ended?.rfc3339)
      json.key("duration")
      json.double(run?.duration.map { Double($0) / 1e9 })
      json.member("log", log)
      json.key("onFinishFailure")
      guard let hook = run?.hook else { return json.null() }
      json.object { json in
        json.member("exitCode", hook.exitCode)
        json.member("signal", hook.signalName)
      }
    }
  }
}

extension Ending {
  /// The outcome of a process that did not succeed, as a phrase.
  package var outcomeText: String {
    switch self {
    case .exited(let code): "failed with exit code \(code)"
    case .killed(let signal): "was killed by \(SignalName.of(signal))"
    case .cannotRun(let code, let reason): "could not be run (\(code)): \(Visible.text(reason))"
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

extension String {
  /// Replaces the " after" in " after 3s" with " for".
  fileprivate var replacingAfter: String {
    hasPrefix(" after") ? " for" + dropFirst(" after".count) : self
  }
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
