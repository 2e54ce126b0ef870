import SerialqQueue
import SerialqSystem
import SerialqWatch

/// The live display of `run`: the running job and the progress of the queue, below the output.
struct RunDisplay {
  private var display: LiveDisplay
  private var progress: QueueProgress
  /// The title of the running job; cached, because a command can be long.
  private var title: (id: JobID, text: String)?

  init(
    _ queue: Queue, _ traits: TerminalTraits, wake: @escaping @Sendable () -> Void
  ) throws(Failure) {
    display = try LiveDisplay(color: traits.hasColor, wake: wake)
    progress = QueueProgress(queue)
  }

  /// When the next frame is due without a change, by the monotonic clock.
  var deadline: Int64? { display.deadline }

  /// Draws the current state if a frame is due.
  mutating func draw(
    _ follower: inout Follower, isStopping: Bool, on output: inout Output
  ) throws(Failure) {
    guard let window = display.nextFrame(on: &output) else { return }
    let queue = follower.queue
    progress.update(queue, changes: follower.changes)
    var view = RunView(bar: progress.bar, left: progress.left(queue))
    if let job = queue.running.first.flatMap(queue.job) {
      view.running = [
        RunView.Running(
          id: job.id, title: title(of: job), elapsed: job.elapsed, output: try follower.openLine(),
          question: job.questionLines(in: follower.folder.name))
      ]
    }
    let now = Clock.reading()
    let suspended = queue.suspended.first
    var isMoving = suspended == nil && !view.running.isEmpty
    if queue.running.isEmpty, case .later(let due) = queue.next(now: now) {
      let delay = Duration.nanoseconds(due - now.monotonic)
      let id = queue.firstWaiting.map { "Job \($0.id)" } ?? "The next job"
      view.note = "\(id) will be retried in \(Humanize.seconds(delay))."
      isMoving = true
    }
    if let suspended {
      let resume = advised("resume", in: follower.folder.name)
      view.note = "Job \(suspended.id) is suspended; continue it: \(resume)"
    }
    if isStopping { view.note = "Stopping the job; interrupt again to kill it." }
    display.show(view.lines(in: window), every: isMoving ? .seconds(1) : nil, on: &output)
  }

  private mutating func title(of job: Job) -> String {
    if let title, title.id == job.id { return title.text }
    let text = job.title
    title = (job.id, text)
    return text
  }
}
