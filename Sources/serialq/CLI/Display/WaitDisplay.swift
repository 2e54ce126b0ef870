import SerialqQueue
import SerialqSystem
import SerialqWatch

/// The live display of `wait`: the running jobs, and the progress of their queues.
struct WaitDisplay {
  private var display: LiveDisplay
  /// Of the queues that have had work during the wait.
  private var progress: [String: QueueProgress] = [:]
  /// What is waited for.
  private let subject: String

  init(
    of subject: String, _ traits: TerminalTraits, wake: @escaping @Sendable () -> Void
  ) throws(Failure) {
    self.subject = subject
    display = try LiveDisplay(color: traits.hasColor, wake: wake)
  }

  /// When the next frame is due without a change, by the monotonic clock.
  var deadline: Int64? { display.deadline }

  /// Draws the current state if a frame is due.
  mutating func draw(_ waits: [Waiting], namesQueues: Bool, on output: inout Output) {
    guard let window = display.nextFrame(on: &output) else { return }
    var view = RunView(bar: .empty)
    var lefts: [Duration?] = []
    for wait in waits {
      let queue = wait.queue
      let isBusy = !queue.running.isEmpty || queue.count(.waiting) > 0
      guard isBusy || progress[wait.folder.name] != nil else { continue }
      var progress = progress[wait.folder.name] ?? QueueProgress(queue)
      progress.update(queue, changes: wait.changes)
      self.progress[wait.folder.name] = progress
      view.bar = view.bar + progress.bar
      guard isBusy else { continue }
      lefts.append(progress.left(queue))
      for job in queue.running.compactMap(queue.job) {
        view.running.append(
          RunView.Running(
            id: job.id, queue: namesQueues ? wait.folder.name : nil, title: job.title,
            elapsed: job.elapsed, question: job.questionLines(in: wait.folder.name)))
      }
    }
    let known = lefts.compactMap(\.self)
    // The queues run at the same time.
    view.left = known.count == lefts.count ? known.max() : nil
    view.note = "Waiting for \(subject): \(view.bar.running) running, \(view.bar.waiting) waiting."
    let interval: Duration? = view.running.isEmpty ? nil : .seconds(1)
    display.show(view.lines(in: window), every: interval, on: &output)
  }
}
