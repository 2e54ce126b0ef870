import SerialqQueue
import SerialqSystem

extension StatusReport {
  func troubleLines(_ detail: Detail) -> [StyledLine] {
    let hidden = moreTroubles + max(0, troubles.count - detail.troubles)
    var lines: [StyledLine] = []
    if hidden > 0 {
      lines.append(StyledLine("\(hidden) more failed: serialq list\(option) --failed", .red))
    }
    for trouble in troubles.suffix(detail.troubles) {
      let age = trouble.age.map { ", \(Humanize.age($0))" } ?? ""
      lines.append(heading(trouble.id, trouble.title, .red))
      lines.append(StyledLine("  \(trouble.outcome)\(age)", .red))
      lines += tail(trouble.tail, detail.troubleTail)
    }
    return lines
  }

  func lines(of job: Running, _ detail: Detail) -> [StyledLine] {
    var words = "running"
    if let elapsed = job.elapsed {
      words += " for \(Humanize.seconds(elapsed))"
      if let expected = job.expected, expected > elapsed {
        words += " of about \(Humanize.about(expected))"
      }
    }
    if let signal = job.signal { words += ", \(signal) requested" }
    if let process = job.process {
      words += ", process \(process)"
    }
    var lines = [heading(job.id, job.title, .bold), StyledLine("  \(words)")]
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
      if pause == nil, running.isEmpty, !hasRunner {
        lines.append(StyledLine("No runner is active.", .yellow))
      }
    }
    if waiting == nil && running.isEmpty {
      lines.append(StyledLine("No job is running or waiting: \(counts.joined(separator: ", "))."))
    } else {
      lines.append(bar.summary(left: left, in: columns))
    }
    return lines
  }

  /// The suggested commands.
  var advice: [StyledLine] {
    var entries: [(String, String)] = []
    if counts.isEmpty {
      entries.append(("Add a job", "serialq add\(option) 'make test'"))
      if hasOthers { entries.append(("Other queues", "serialq queues")) }
      entries.append(("All commands", "serialq help"))
    }
    for job in running where job.guardian == .noRunner || job.guardian == .waitingRunner {
      // Only a runner processes a cancellation.
      let isHeard = job.guardian == .waitingRunner
      if isHeard { entries.append(("End it", "serialq cancel\(option) \(job.id)")) }
      if let process = job.process {
        entries.append((isHeard ? "Or by hand" : "End it", "kill -- -\(process)"))
      }
    }
    if let last = troubles.last {
      let isOne = troubles.count + moreTroubles == 1
      entries.append(("See why", "serialq log\(option) \(last.id)"))
      entries.append(("Run again", "serialq retry\(option) \(isOne ? "\(last.id)" : "--failed")"))
      entries.append(("Mark as seen", "serialq ack\(option) \(isOne ? "\(last.id)" : "--all")"))
    }
    for note in notes { entries.append((note.adviceName, note.advice)) }
    if pause != nil {
      entries.append(("Resume", "serialq resume\(option)"))
    } else if !hasRunner, waiting != nil || !running.isEmpty {
      entries.append(("Run them here", "serialq run\(option)"))
      entries.append(("In background", "serialq resume\(option)"))
    }
    if let job = running.first, job.guardian == .runner {
      entries.append(("Watch", "serialq log\(option) -f"))
      if job.signal == nil { entries.append(("End it", "serialq cancel\(option) \(job.id)")) }
    }
    let width = entries.map(\.0.count).max() ?? 0
    return entries.map { name, command in
      StyledLine("\(name):".padded(to: width + 3), .dim) + StyledLine(command)
    }
  }

  private var option: String { QueueName.option(for: queue) }
}
