import SerialqSystem

// The words that the page and the terminal share.
extension QueueReport {
  /// How it went: `7 jobs, 2 failed`.
  var headline: String {
    if jobs == 0 { return "empty" }
    return "\(jobs) job\(jobs == 1 ? "" : "s"), \(failures == 0 ? "none" : "\(failures)") failed"
  }

  /// Since when and until when jobs ran, and for how much of it; nil if none did.
  var periodText: String? {
    guard let (start, end) = period else { return nil }
    let until = start.day == end.day ? "\(end.time) UTC" : Humanize.moment(end)
    return "\(start.day) \(start.time) to \(until), \(Humanize.duration(work)) of it at work"
  }

  /// What is not drawn before the first row; nil if nothing is left out.
  var earlierText: String? {
    let count = timeline.earlier
    return count == 0 ? nil : "\(Self.jobs(count, "earlier")) not drawn; --last N draws more."
  }

  /// What is not drawn after the last row; nil if nothing is left out.
  var laterText: String? { timeline.later == 0 ? nil : "\(timeline.later) more wait." }

  /// What was cut out of the timeline; nil if nothing was.
  var cutText: String? {
    let cuts = timeline.scale.cuts.map(\.duration)
    guard let longest = cuts.max() else { return nil }
    if cuts.count == 1 { return "\(Humanize.duration(longest)) in which nothing ran, cut out" }
    let sum = Humanize.duration(cuts.reduce(.zero, +))
    return """
      \(cuts.count) times nothing ran, cut out: \(sum) in all, \(Humanize.duration(longest)) the \
      longest
      """
  }

  /// Why nothing is started; nil if it is not paused.
  var pauseText: String? {
    guard let pause else { return nil }
    let reason = pause.because.map { "Stopped by the failure of job \($0)" } ?? "Paused"
    let since = pause.at.map { " since \(Humanize.moment($0))" } ?? ""
    return "\(reason)\(since): no job is started."
  }

  static func jobs(_ count: Int, _ kind: String) -> String {
    count == 1 ? "1 \(kind) job is" : "\(count) \(kind) jobs are"
  }
}

extension Timeline.Row {
  /// How long its latest attempt took, or has taken; empty if that is not known.
  var time: String { latest?.duration.map(Humanize.duration) ?? "" }

  /// That of the attempt that the job's state tells of; a job that waits again has none.
  var latest: Attempt? { job.state == .waiting ? nil : attempts.last }
}
