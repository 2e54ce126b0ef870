import SerialqQueue
import SerialqSystem

/// Estimates the duration of jobs from earlier ones.
///
/// Uses the median of earlier runs of the same command, else of jobs with the same label, else of
/// all jobs in the queue: with a median, one job that hung overnight has little effect. Counts only
/// successes: how long a failure took says nothing about how long the work takes.
struct DurationEstimate {
  /// Only recent runs count: the duration of a command changes over time.
  private static let latest = 5
  private static let latestOfQueue = 101
  private static let mostJobs = 5_000

  private var byCommand: [Command: [Int64]] = [:]
  private var byLabel: [Bytes: [Int64]] = [:]
  private var all: [Int64] = []

  /// Estimates from the jobs of a queue, ordered by id; O(jobs).
  init(_ jobs: [Job]) {
    let ended = jobs.lazy.reversed().filter { $0.state == .succeeded && $0.duration != nil }
    for job in ended.prefix(Self.mostJobs) {
      guard let duration = job.duration else { continue }
      func add(_ list: inout [Int64], atMost count: Int) {
        if list.count < count { list.append(duration) }
      }
      add(&byCommand[job.command, default: []], atMost: Self.latest)
      if let label = job.label { add(&byLabel[label, default: []], atMost: Self.latest) }
      add(&all, atMost: Self.latestOfQueue)
    }
    all.sort()
  }

  /// The estimated total duration of a job; nil if no job has succeeded yet.
  func duration(of job: Job) -> Duration? {
    let earlier = byCommand[job.command] ?? job.label.flatMap { byLabel[$0] }
    return Self.median(ofSorted: earlier?.sorted() ?? all).map { .nanoseconds($0) }
  }

  /// The estimated time until all running and waiting jobs are done.
  ///
  /// Nil if nothing is known, or if no job waits and the running ones have exceeded their
  /// estimates.
  func left(running: [Job], waiting: some Sequence<Job>) -> Duration? {
    var left = Duration.zero
    for job in running {
      guard let whole = duration(of: job) else { return nil }
      left += max(.zero, whole - (job.elapsed ?? .zero))
    }
    for job in waiting {
      guard let whole = duration(of: job) else { return nil }
      left += whole
    }
    return left > .zero ? left : nil
  }

  private static func median(ofSorted durations: [Int64]) -> Int64? {
    durations.isEmpty ? nil : durations[durations.count / 2]
  }
}
