import SerialqQueue
import SerialqSystem
import SerialqWatch

/// The state of a queue: failures, running and waiting jobs, progress, and suggested commands.
///
/// Pure: formats its properties for a terminal of any size, or for a file.
struct StatusReport: Equatable {
  /// An open job: a failure, or a skipped job whose cause is not open itself.
  struct Trouble: Equatable {
    var id: JobID
    var title: String
    /// The outcome, as a phrase to follow "job 3".
    var outcome: String
    var age: Duration?
    /// The end of its output.
    var tail: [String] = []
    /// Whether it was skipped, and so has no output.
    var isSkipped = false
    /// The open jobs that were skipped because of it, ascending.
    var skips: [JobID] = []
  }

  struct Running: Equatable {
    /// The process that observes the end of the job.
    enum Guardian: Equatable {
      case runner
      /// The runner died and the job is alive; a new runner waits for it.
      case waitingRunner
      /// The runner died and the job is alive; no process waits for it.
      case noRunner
      /// The runner died, and the job has ended.
      case gone
    }

    var id: JobID
    var title: String
    var elapsed: Duration?
    /// The expected duration, from earlier runs.
    var expected: Duration?
    /// The process group of an orphaned job.
    var process: Int32?
    var guardian = Guardian.runner
    /// How long ago it was suspended; nil if it is not.
    var suspended: Duration?
    /// What it asks on its terminal, as a phrase to follow "job 3".
    var question: String?
    /// Whether its terminal is gone, because its keeper was killed.
    var hasLostTerminal = false
    /// Why output is missing in its log.
    var unlogged: String?
    /// The last termination signal requested.
    var signal: String?
    /// The processes that cannot be ended, and why.
    var left: String?
    var tail: [String] = []
  }

  /// Another problem, and the command that shows it.
  struct Note: Equatable {
    var text: String
    var adviceName: String
    var advice: String
  }

  struct Waiting: Equatable {
    var count: Int
    var next: JobID
    var title: String
    /// Time left until the earliest start.
    var delay: Duration?
    /// The shortage because of which the next job cannot be started.
    var shortage: String?
  }

  struct Pause: Equatable {
    var age: Duration?
    var because: JobID?
  }

  /// The end of the jobs since the queue was last idle.
  struct Finish: Equatable {
    var at: Timestamp
    var age: Duration
    /// From the first start; nil if no job ran.
    var took: Duration?
  }

  /// Why the queue starts no job, by the names of the JSON.
  enum Obstacle: String {
    case paused, failure, suspended, orphan, shortage, delay
    case noRunner = "no-runner"
    case onFinish = "on-finish"
  }

  var queue: String
  var troubles: [Trouble] = []
  /// The number of open jobs that are not shown.
  var moreTroubles = 0
  var notes: [Note] = []
  var running: [Running] = []
  var pause: Pause?
  var waiting: Waiting?
  /// Nil unless the queue is idle.
  var finish: Finish?
  var hasRunner = false
  /// What the last runner said, if there is none.
  var runnerSaid: String?
  /// Whether a command runs after each job.
  var hasFinishHook = false
  var bar = ProgressBar.empty
  var left: Duration?
  /// The count of each state as text; empty without jobs.
  var counts: [String] = []
  /// Whether there are other queues.
  var hasOthers = false
  /// A line that names the queues with jobs; only in an empty queue.
  var others: String?

  /// How much detail to show in limited space.
  struct Detail {
    var troubles = 3
    var troubleTail = 3
    var runningTail = 3
    var hasAdvice = true
    /// Whether empty lines separate the parts.
    var hasGaps = true

    /// From most to least detail.
    static let all = [
      Detail(), Detail(troubleTail: 1), Detail(troubleTail: 0, runningTail: 1),
      Detail(troubles: 1, troubleTail: 0, runningTail: 1),
      Detail(troubles: 1, troubleTail: 0, runningTail: 0),
      Detail(troubles: 1, troubleTail: 0, runningTail: 0, hasAdvice: false),
      Detail(troubles: 0, runningTail: 0, hasAdvice: false, hasGaps: false),
    ]
  }

  /// The lines at full length; `columns` sets the width of the bar, which only terminals get.
  func lines(_ detail: Detail = Detail(), columns: Int? = nil) -> [StyledLine] {
    guard !counts.isEmpty else {
      var lines = [StyledLine("Queue \(queue) is empty.")]
      if let others { lines.append(StyledLine(others)) }
      if pause != nil {
        lines.append(
          StyledLine("It is paused; resume it: \(advised("resume", in: queue))"))
      }
      return lines + advice
    }
    let noteLines = notes.map { StyledLine($0.text, .yellow) }
    var blocks = [troubleLines(detail), noteLines] + running.map { lines(of: $0, detail) }
    blocks.append(summary(columns))
    if detail.hasAdvice { blocks.append(advice) }
    return Array(
      blocks.filter { !$0.isEmpty }.joined(separator: detail.hasGaps ? [StyledLine()] : []))
  }

  /// Why no job starts, and the job that is the cause, if one is.
  ///
  /// Nil if one runs under its runner, or if none waits in a queue that is not paused.
  var obstacle: (reason: Obstacle, job: JobID?)? {
    if let pause { return (pause.because == nil ? .paused : .failure, pause.because) }
    if let job = running.first(where: { $0.guardian != .runner }) { return (.orphan, job.id) }
    if let job = running.first { return job.suspended.map { _ in (.suspended, job.id) } }
    guard let waiting else { return nil }
    if !hasRunner { return (.noRunner, nil) }
    if waiting.shortage != nil { return (.shortage, waiting.next) }
    if waiting.delay != nil { return (.delay, waiting.next) }
    // Only the runner knows; between two jobs, it does little else for long.
    return hasFinishHook ? (.onFinish, nil) : nil
  }

  /// How often a displayed duration changes; nil if there is none.
  var interval: Duration? {
    if waiting?.delay != nil || running.contains(where: { $0.suspended == nil }) {
      return .seconds(1)
    }
    let ages = troubles.map(\.age) + running.map(\.suspended) + [pause?.age, finish?.age]
    return ages.contains { $0 != nil } ? .seconds(60) : nil
  }
}
