import SerialqQueue
import SerialqSystem
import SerialqWatch

extension StatusReport {
  func troubleLines(_ detail: Detail) -> [StyledLine] {
    let omitted = troubles.dropLast(detail.troubles)
    let hidden = moreTroubles + omitted.reduce(0) { $0 + 1 + $1.skips.count }
    var lines: [StyledLine] = []
    if hidden > 0 {
      let more = detail.troubles == 0 ? " open" : " more open: \(advised("list", in: queue)) --open"
      lines.append(StyledLine("\(hidden)\(more)", .red))
    }
    for trouble in troubles.suffix(detail.troubles) {
      let age = trouble.age.map { ", \(Humanize.age($0))" } ?? ""
      lines.append(heading(trouble.id, trouble.title, .red))
      lines.append(StyledLine("  \(trouble.outcome)\(age)", .red))
      lines += tail(trouble.tail, detail.troubleTail)
      if !trouble.skips.isEmpty {
        let (jobs, were) = trouble.skips.count == 1 ? ("job", "was") : ("jobs", "were")
        let ids = JobID.text(of: trouble.skips, separator: ", ")
        lines.append(StyledLine("  \(jobs) \(ids) \(were) skipped because of it", .red))
      }
    }
    return lines
  }

  func lines(of job: Running, _ detail: Detail) -> [StyledLine] {
    var words = "running"
    if let age = job.suspended {
      words = "suspended \(Humanize.age(age))"
      if let elapsed = job.elapsed {
        words += ", after it was running for \(Humanize.seconds(elapsed))"
      }
    } else if let elapsed = job.elapsed {
      words += " for \(Humanize.seconds(elapsed))"
      if let expected = job.expected, expected > elapsed {
        words += " of about \(Humanize.about(expected))"
      }
    }
    if job.guardian == .gone { words = "was " + words }
    if let signal = job.signal { words += ", \(signal) requested" }
    if let process = job.process {
      words += ", process \(process)"
    }
    var lines = [heading(job.id, job.title, .bold), StyledLine("  \(words)")]
    if let question = job.question { lines.append(StyledLine("  \(question)", .yellow)) }
    if job.hasLostTerminal {
      lines.append(StyledLine("  its terminal is gone: its keeper was killed", .yellow))
    }
    if let reason = job.unlogged {
      lines.append(StyledLine("  \(reason)", .yellow))
    }
    if let left = job.left {
      let what = job.suspended == nil ? "ended" : "suspended"
      lines.append(StyledLine("  it cannot be \(what): \(left)", .yellow))
    }
    switch job.guardian {
    case .runner: break
    case .noRunner, .waitingRunner:
      lines.append(
        StyledLine("  its runner died; the next job waits for this one to end", .yellow))
    case .gone:
      lines.append(StyledLine("  its runner and the job died", .yellow))
    }
    return lines + tail(job.tail, detail.runningTail)
  }

  private func heading(_ id: JobID, _ title: String, _ color: Color) -> StyledLine {
    StyledLine("Job \(id): ", color) + StyledLine(title)
  }

  private func tail(_ lines: [String], _ count: Int) -> [StyledLine] {
    lines.suffix(count).map { StyledLine("  | ", .dim) + StyledLine($0) }
  }

  func summary(_ columns: Int?) -> [StyledLine] {
    var lines: [StyledLine] = []
    if let pause {
      let age = pause.age.map { ", \(Humanize.age($0))" } ?? ""
      let reason = pause.because.map { "Stopped by the failure of job \($0)" } ?? "Paused"
      lines.append(StyledLine("\(reason)\(age): no job is started.", .yellow))
    }
    if let waiting {
      var words = "\(waiting.count) waiting, next is job \(waiting.next)"
      if let delay = waiting.delay { words += " in \(Humanize.seconds(delay))" }
      lines.append(StyledLine("\(words): \(waiting.title)"))
      switch obstacle?.reason {
      case .shortage: lines.append(StyledLine("The runner \(waiting.shortage ?? "")", .yellow))
      case .noRunner:
        let said = runnerSaid.map { " The last one said: \($0)" } ?? ""
        lines.append(StyledLine("No runner is active.\(said)", .yellow))
      case .onFinish:
        lines.append(StyledLine("The on-finish command of the last job may be running."))
      // Their lines are above.
      case .paused, .failure, .suspended, .orphan, .delay, nil: break
      }
    }
    if waiting == nil && running.isEmpty {
      lines.append(StyledLine("No job is running or waiting: \(counts.joined(separator: ", "))."))
      if let finish {
        let date = finish.age < .seconds(60) ? "" : " (\(Humanize.moment(finish.at)))"
        let took = finish.took.map { ", after \(Humanize.duration($0))" } ?? ""
        lines.append(StyledLine("Finished \(Humanize.age(finish.age))\(date)\(took)."))
      }
    } else {
      lines.append(bar.summary(left: left, in: columns))
    }
    return lines
  }

  /// The suggested commands.
  var advice: [StyledLine] {
    var entries: [(String, String)] = []
    if counts.isEmpty {
      entries.append(("Add a job", "\(advised("add", in: queue)) 'make test'"))
      if hasOthers { entries.append(("Other queues", advised("queues"))) }
      entries.append(("All commands", advised("help")))
    }
    for job in running where job.question != nil {
      entries.append(("Answer it", "\(advised("attach", in: queue)) \(job.id)"))
    }
    for job in running where job.guardian == .noRunner || job.guardian == .waitingRunner {
      // Not kill: processes outside of the job's group would run on beside the next job.
      entries.append(("End it", "\(advised("cancel", in: queue)) \(job.id)"))
    }
    if let last = troubles.last {
      // What waits was meant to run after it.
      let isStopped = pause?.because != nil
      let isOne = troubles.count + moreTroubles == 1 && last.skips.isEmpty
      // A skipped job has no output; its details name the job that caused it.
      let shows = last.isSkipped ? "show" : "log"
      entries.append(("See why", "\(advised(shows, in: queue)) \(last.id)"))
      let jobs = (isOne ? "\(last.id)" : "--failed") + (isStopped ? " --first" : "")
      entries.append(("Run again", "\(advised("retry", in: queue)) \(jobs)"))
      entries.append(
        ("Mark as seen", "\(advised("ack", in: queue)) \(isOne ? "\(last.id)" : "--all")"))
    }
    for note in notes { entries.append((note.adviceName, note.advice)) }
    if pause != nil, !counts.isEmpty {
      entries.append(("Resume", advised("resume", in: queue)))
    } else if !hasRunner, waiting != nil || !running.isEmpty {
      entries.append(("Run them here", advised("run", in: queue)))
      entries.append(("In background", advised("start", in: queue)))
    }
    if let job = running.first, job.guardian == .runner {
      if job.suspended == nil { entries.append(("Watch", "\(advised("log", in: queue)) -f")) }
      if job.signal != "SIGKILL" {
        let (name, kill) = job.signal == nil ? ("End it", "") : ("At once", " --signal KILL")
        entries.append((name, "\(advised("cancel", in: queue))\(kill) \(job.id)"))
      }
    }
    let width = entries.map(\.0.count).max() ?? 0
    return entries.map { name, command in
      StyledLine("\(name):".padded(to: width + 3), .dim) + StyledLine(command)
    }
  }
}
