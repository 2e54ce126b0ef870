import SerialqQueue
import SerialqSystem

/// How long jobs will take, guessed from how long earlier ones took.
///
/// A job that ran the same command before will take as long as that did, one with the same label as
/// the others of that label, any other as long as jobs of the queue do: in each case the median,
/// so that one job that hung for a night does not count for many. Only what succeeded counts; what
/// failed says nothing about the time that the work takes.
struct DurationGuess {
  /// Only the latest are looked at: what a command took a year ago says little about today.
  private static let latest = 5
  private static let latestOfQueue = 101
  private static let mostJobs = 5_000

  private var byCommand: [Command: [Int64]] = [:]
  private var byLabel: [Bytes: [Int64]] = [:]
  private var all: [Int64] = []

  /// From the jobs of a queue, by id; O(jobs).
  init(_ jobs: [Job]) {
    let ended = jobs.lazy.reversed().filter { $0.state == .succeeded && $0.run?.duration != nil }
    for job in ended.prefix(Self.mostJobs) {
      guard let duration = job.run?.duration else { continue }
      func add(_ list: inout [Int64], atMost count: Int) {
        if list.count < count { list.append(duration) }
      }
      add(&byCommand[job.command, default: []], atMost: Self.latest)
      if let label = job.label { add(&byLabel[label, default: []], atMost: Self.latest) }
      add(&all, atMost: Self.latestOfQueue)
    }
    all.sort()
  }

  /// How long this job will take in all; nil when nothing has succeeded yet.
  func duration(of job: Job) -> Duration? {
    let earlier = byCommand[job.command] ?? job.label.flatMap { byLabel[$0] }
    return Self.median(ofSorted: earlier?.sorted() ?? all).map { .nanoseconds($0) }
  }

  /// How long the jobs that run and wait will still take; nil when nothing is known, or when what
  /// is known has been proved wrong.
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
