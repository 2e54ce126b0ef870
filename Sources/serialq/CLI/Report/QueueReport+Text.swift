import SerialqSystem

// Text shared by the page and the terminal.
extension QueueReport {
  /// The result: `7 jobs, 2 failed, 1 cancelled`.
  var headline: String {
    if jobs == 0 { return "empty" }
    let cancelled = counts.first { $0.state == .cancelled }.map { ", \($0.count) cancelled" } ?? ""
    let failed = failures == 0 ? "none" : "\(failures)"
    return "\(jobs) job\(jobs == 1 ? "" : "s"), \(failed) failed\(cancelled)"
  }

  /// The order of the rows.
  var orderText: String {
    timeline.rows.last?.job.state == .waiting
      ? "Sorted by id, then waiting jobs in the order in which they will run." : "Sorted by id."
  }

  /// The period in which jobs ran, and the total time; nil if none ran.
  var periodText: String? {
    guard let (start, end) = period else { return nil }
    let until = start.day == end.day ? "\(end.time) \(end.zone)" : Humanize.moment(end)
    return "\(start.day) \(start.time) to \(until), \(Humanize.duration(work)) of run time"
  }

  /// The first start and the last end that are drawn; nil if no job ran.
  var axisTexts: (String, String)? {
    timeline.scale.ends.map { start, end in
      let time = end.day == start.day ? end.time : "\(end.day) \(end.time)"
      return ("\(start.day) \(start.time)", time)
    }
  }

  /// The number of jobs omitted before the first row; nil if none.
  var earlierText: String? {
    let count = timeline.earlier
    return count == 0 ? nil : "\(Self.jobs(count, "earlier")) not drawn; --last N draws more."
  }

  /// The number of jobs omitted after the last row; nil if none.
  var laterText: String? { timeline.later == 0 ? nil : "\(timeline.later) more waiting." }

  /// The idle time cut from the timeline; nil if none.
  var cutText: String? {
    let cuts = timeline.scale.cuts.map(\.duration)
    guard let longest = cuts.max() else { return nil }
    if cuts.count == 1 { return "\(Humanize.duration(longest)) idle, cut out" }
    let sum = Humanize.duration(cuts.reduce(.zero, +))
    return """
      \(cuts.count) idle periods, cut out: \(sum) in total, longest \(Humanize.duration(longest))
      """
  }

  /// Why the queue is paused; nil if it is not.
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
  /// The duration of the latest attempt, so far if it is running; empty if unknown.
  var time: String { latest?.duration.map(Humanize.duration) ?? "" }

  /// The attempt that produced the job's state; nil for a waiting job.
  var latest: Attempt? { job.state == .waiting ? nil : attempts.last }
}
